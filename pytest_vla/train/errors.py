"""What can be wrong with a dataset or a training, apart from the code that needs pyarrow or torch."""


class DatasetError(Exception):
    """A folder is not a dataset, or one that cannot be written to."""


class TrainError(Exception):
    """The configuration is wrong, or there is nothing to train on."""
