"""One feature of the protocol a file: decode, ask `terra_refactor.ide`, encode."""
