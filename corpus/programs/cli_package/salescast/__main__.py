from salescast.config import load_config
from salescast.data import make_series, windows
from salescast.training import Training


def main():
    config = load_config()
    training = Training(config)
    best = training.run(windows(make_series(), config))
    print(f"best {best:.2f}")


if __name__ == "__main__":
    main()
