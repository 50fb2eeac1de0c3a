"""One module per feature of the protocol: decode, call `terra_refactor.ide`, encode."""
