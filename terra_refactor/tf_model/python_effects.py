"""Side effects of calls of Python's standard library outside the program.

Computes: nothing. Gives: `PYTHON_EFFECTS`. A name of the standard library without a row is pure, or changes only its
arguments (`MUTATING_METHODS` lists the methods that change their receiver; for lists and dicts the interpreter is
more precise).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.tf_model.name_table import NameTable, name_table, within, words

_OS: Final = within(
    "os",
    "abort access chdir chmod chown close dup dup2 execv execve execvp fchmod fdopen fork fstat fsync ftruncate "
    "get_terminal_size kill killpg link "
    "listdir lseek lstat makedirs mkdir mkfifo mknod nice open pipe popen posix_spawn putenv read readlink remove "
    "removedirs rename renames replace "
    "rmdir scandir sendfile setenv setuid spawnv stat startfile statvfs symlink sync system truncate ttyname umask "
    "unlink unsetenv utime wait waitpid "
    "walk fwalk write",
)

_PATH_QUESTIONS: Final = within(
    "os.path", "exists lexists isfile isdir islink ismount getsize getmtime getatime getctime realpath samefile"
)

_PATH_METHODS: Final = within(
    "pathlib.Path",
    "chmod exists glob group hardlink_to is_block_device is_char_device is_dir is_fifo is_file is_mount is_socket "
    "is_symlink iterdir lchmod link_to "
    "lstat mkdir open owner read_bytes read_text readlink rename replace rglob rmdir samefile stat symlink_to touch "
    "unlink write_bytes "
    "write_text resolve",
)

BELOW_DEFAULT_LEVEL: Final = words(
    " ".join(within(owner, "debug info") for owner in ("logging", "logging.root", "logging.Logger"))
)
"""Log messages below the level WARNING, which Python does not show by default."""
SHOWN_ONCE: Final = frozenset({"warnings.warn"})
CONFIGURES_LOGGING: Final = words("basicConfig dictConfig fileConfig set_verbosity setLevel")
CONFIGURES_WARNINGS: Final = words(
    "captureWarnings catch_warnings filterwarnings resetwarnings showwarning simplefilter"
)
"""The members of `logging` and `warnings` by which a program changes what is shown."""
PYTHON_EFFECTS: Final[NameTable[EffectKind]] = name_table(
    {
        EffectKind.PRINT: "sys.stdout.* sys.stderr.* builtins.print pprint.pprint pprint.pp traceback.print_exc traceback.print_stack "
        "traceback.print_exception "
        "argparse.ArgumentParser.print_help argparse.ArgumentParser.print_usage traceback.print_tb dis.dis",
        EffectKind.LOG: "logging.* !logging.getLogger !logging.getLevelName !logging.NullHandler "
        "!logging.Formatter !logging.getLoggerClass "
        "!logging.Logger.isEnabledFor !logging.Logger.getEffectiveLevel !logging.Logger.getChild "
        "!logging.root.isEnabledFor !logging.root.getEffectiveLevel !logging.root.getChild !logging.root.hasHandlers "
        "!logging.Logger.hasHandlers !logging.Formatter.format warnings.warn warnings.warn_explicit "
        "warnings.showwarning",
        EffectKind.INPUT_OUTPUT: " ".join(
            (
                "builtins.open builtins.input builtins.breakpoint builtins.compile",
                _OS,
                _PATH_QUESTIONS,
                _PATH_METHODS,
                "io.FileIO io.IOBase.* io.TextIOWrapper io.TextIOWrapper.* io.BufferedReader.* "
                "io.BufferedWriter.* !io.StringIO !io.BytesIO",
                "io.TextIOBase.* io.BufferedIOBase.* io.RawIOBase.*",
                "subprocess.* !subprocess.list2cmdline shutil.* !shutil.which socket.* !socket.gethostname select.* signal.* sqlite3.* "
                "multiprocessing.* !multiprocessing.cpu_count !multiprocessing.current_process ctypes.* queue.Queue.* queue.SimpleQueue.*",
                "threading.* !threading.local !threading.get_ident !threading.current_thread concurrent.futures.* "
                "http.* urllib.request.* urllib.error.* ftplib.*",
                "tempfile.* glob.* tarfile.* zipfile.* gzip.* !gzip.compress !gzip.decompress bz2.* lzma.* shelve.* "
                "linecache.*",
                "json.dump json.load pickle.dump pickle.load csv.reader csv.writer csv.DictReader csv.DictWriter "
                "csv.writer.* configparser.RawConfigParser.read",
                "configparser.RawConfigParser.write time.sleep atexit.register gc.collect gc.disable gc.enable "
                "gc.freeze sys.exit sys.settrace sys.setprofile",
                "sys.setrecursionlimit sys.stdin.* faulthandler.* importlib.import_module "
                "importlib.reload runpy.* code.* pdb.*",
                "warnings.filterwarnings warnings.simplefilter warnings.resetwarnings getpass.* locale.setlocale "
                "builtins.exit builtins.quit unittest.main",
                "argparse.ArgumentParser.parse_args argparse.ArgumentParser.parse_known_args "
                "argparse.ArgumentParser.exit argparse.ArgumentParser.error",
                "xml.etree.ElementTree.parse xml.etree.ElementTree.ElementTree.write wave.open logging.basicConfig "
                "logging.config.* logging.FileHandler",
                "os.environ.__setitem__ os.environ.update os.environ.setdefault os.environ.pop os.environ.clear "
                "timeit.* webbrowser.* smtplib.* readline.*",
            )
        ),
        EffectKind.UNKNOWN_CALL: "builtins.exec builtins.eval",
        EffectKind.RANDOM: "random.* !random.Random !random.SystemRandom secrets.* uuid.uuid4 os.urandom",
        EffectKind.TIME: "time.* !time.sleep !time.strftime !time.strptime !time.mktime !time.struct_time "
        "datetime.datetime.now datetime.date.today "
        "datetime.datetime.utcnow datetime.date.today uuid.uuid1 uuid.uuid4 os.getenv os.environ.get "
        "os.environ.__getitem__ "
        "os.environ.copy os.environ.items os.environ.keys os.environ.values os.environ.__contains__ "
        "os.getcwd "
        "os.times os.getloadavg sys.getrefcount sys.exc_info resource.getrusage",
        EffectKind.ITERATE: "builtins.anext",
    }
)
"""All effects of names in the standard library."""

MUTATING_METHODS: Final[Mapping[str, frozenset[str]]] = {
    "builtins.list": words(
        "append extend insert remove pop clear sort reverse __setitem__ __delitem__ __iadd__ __imul__"
    ),
    "builtins.dict": words("clear pop popitem setdefault update __setitem__ __delitem__ __ior__"),
    "builtins.set": words(
        "add clear discard pop remove update intersection_update difference_update symmetric_difference_update "
        "__ior__ __iand__ __isub__ __ixor__"
    ),
    "builtins.bytearray": words(
        "append extend insert remove pop clear reverse __setitem__ __delitem__ __iadd__ __imul__"
    ),
    "collections.deque": words(
        "append appendleft extend extendleft insert remove pop popleft clear rotate reverse __setitem__ __delitem__"
    ),
    "collections.OrderedDict": words("clear pop popitem setdefault update move_to_end __setitem__ __delitem__"),
    "collections.defaultdict": words(
        "clear pop popitem setdefault update __getitem__ __setitem__ __delitem__ __missing__"
    ),
    "collections.Counter": words("clear pop popitem setdefault update subtract __setitem__ __delitem__"),
    "collections.ChainMap": words("clear pop popitem setdefault update __setitem__ __delitem__"),
    "collections.UserDict": words("clear pop popitem setdefault update __setitem__ __delitem__"),
    "collections.UserList": words(
        "append extend insert remove pop clear sort reverse __setitem__ __delitem__ __iadd__ __imul__"
    ),
    "weakref.WeakKeyDictionary": words("clear pop popitem setdefault update __setitem__ __delitem__ __ior__"),
    "weakref.WeakValueDictionary": words("clear pop popitem setdefault update __setitem__ __delitem__ __ior__"),
    "weakref.WeakSet": words(
        "add clear discard pop remove update difference_update intersection_update __ior__ __isub__"
    ),
    "contextlib.ExitStack": words("callback close enter_context pop_all push"),
    "contextvars.ContextVar": words("set reset"),
    "array.array": words(
        "append extend insert remove pop byteswap fromlist frombytes fromfile reverse __setitem__ __delitem__"
    ),
    "io.StringIO": words("write writelines truncate seek read readline readlines close __next__"),
    "io.BytesIO": words("write writelines truncate seek read readline readlines close __next__"),
    "numpy.ndarray": words(
        "fill sort partition put resize itemset setfield setflags byteswap __setitem__ __iadd__ __isub__ __imul__ "
        "__itruediv__ __ifloordiv__ __imod__ "
        "__ipow__ __imatmul__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__"
    ),
    "random.Random": words(
        "seed setstate random randint randrange choice choices shuffle sample uniform gauss normalvariate betavariate"
    ),
    "numpy.random.RandomState": words("seed shuffle set_state"),
}
"""Methods that change their receiver, by class. Methods without a row do not."""

MUTATING_FUNCTIONS: Final[Mapping[str, str]] = {
    "bisect.insort": "a",
    "bisect.insort_left": "a",
    "bisect.insort_right": "a",
    "builtins.delattr": "obj",
    "builtins.setattr": "obj",
    "heapq.heapify": "heap",
    "heapq.heappop": "heap",
    "heapq.heappush": "heap",
    "heapq.heappushpop": "heap",
    "heapq.heapreplace": "heap",
    "numpy.copyto": "dst",
    "numpy.fill_diagonal": "a",
    "numpy.place": "arr",
    "numpy.put": "a",
    "numpy.put_along_axis": "arr",
    "numpy.putmask": "a",
    "numpy.random.Generator.shuffle": "x",
    "numpy.random.RandomState.shuffle": "x",
    "numpy.random.shuffle": "x",
    "numpy.ufunc.at": "a",
    "operator.delitem": "a",
    "operator.iadd": "a",
    "operator.setitem": "a",
    "random.Random.shuffle": "x",
    "random.shuffle": "x",
}
"""Functions that change one of their arguments: the name of that parameter."""
