"""Errors that a user can cause. Each is one sentence, with a place and a way out.

    BiomuxError
    ├── UsageError       the command line or a call asks for something that cannot be (BX0xx)
    │   └── UnreadableError  the system does not give out a file or folder (BX002)
    ├── DocumentError    a document contradicts itself (BX10x)
    ├── FormatError      bytes that a format cannot read, or a document that it cannot write (BX11x-BX19x)
    ├── CorpusError      a corpus is missing, incomplete or not what its card says (BX2xx)
    ├── RecipeError      a recipe has an unknown key or a bad value (BX3xx)
    ├── TrainingError    a run cannot start or cannot go on (BX4xx)
    ├── BundleError      a bundle is damaged, hostile or of another version (BX5xx)
    ├── AnnotateError    documents cannot be annotated as asked (BX6xx)
    └── ScoreError       gold and predictions do not fit together (BX7xx)

The command prints the sentence and exits with 2. Codes are stable: they can be searched for in docs/reference/errors.md.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    "BX001": "an argument of a command or a call is not usable",
    "BX002": "a file or folder is not there, or cannot be read or written",
    "BX003": "an optional part of Biomux is not installed",
    "BX004": "an output already exists, and is not replaced without --overwrite",
    "BX101": "a span, passage, sentence, token or answer lies outside its text or is empty",
    "BX102": "a relation points at a span that the document does not have",
    "BX103": "an offset in bytes or UTF-16 units lies inside a character or outside the text",
    "BX104": "a value of a document or of a part of it has the wrong type",
    "BX110": "the format of a file cannot be told",
    "BX111": "bytes are not valid in the stated encoding",
    "BX112": "a compressed file is damaged or cut short",
    "BX113": "a record is malformed",
    "BX114": "a record's offsets lie outside its text",
    "BX115": "a record's mention is not the text at its offsets",
    "BX116": "a column or field is missing",
    "BX117": "XML or JSON is not well-formed",
    "BX118": "XML declares entities, which are refused",
    "BX119": "a file that belongs to this one is missing",
    "BX120": "a format cannot be written, or cannot hold this document at all",
    "BX121": "a record is longer than the stated limit",
    "BX122": "a file is of a later version than this Biomux reads",
    "BX130": "the target format cannot hold everything, and that was forbidden",
    "BX201": "there is no corpus of that name",
    "BX202": "the corpora directory is not there, or the configuration that names it is not readable",
    "BX203": "a file of a corpus is missing",
    "BX204": "a file or a count of a corpus is not what its card says",
    "BX205": "a corpus is given out on application only",
    "BX206": "a card is not valid",
    "BX207": "a corpus has no such split or type, or a view or group is not usable",
    "BX208": "a download failed",
    "BX301": "a recipe is not readable",
    "BX302": "a recipe has unknown keys or bad values",
    "BX303": "there is no recipe of that name",
    "BX304": "a value set from outside is not usable",
    "BX305": "a recipe's parts do not fit together",
    "BX306": "there is no such head or regime, or it does not have such a setting",
    "BX307": "several corpora of a recipe, or splits or types of them, are not there",
    "BX401": "an encoder, tokenizer or vocabulary cannot be loaded",
    "BX402": "a checkpoint or model cannot be saved",
    "BX403": "a loss is not a number",
    "BX404": "there is nothing to train on",
    "BX405": "a run's folder is in use, missing or of another recipe",
    "BX406": "a run's model cannot be loaded",
    "BX407": "several processes cannot share the training as it is",
    "BX408": "a device or its arithmetic is asked for that is not there",
    "BX409": "a task has training examples, but none of them is positive",
    "BX420": "word vectors are not there, or not in a file that can be read",
    "BX421": "a file of word vectors is cut short",
    "BX422": "a word vector has the wrong size, or something that is not a number",
    "BX423": "a file of word vectors is not UTF-8",
    "BX501": "there is no bundle",
    "BX502": "a bundle is of another format or version",
    "BX503": "a file of a bundle is missing, or is not what the manifest says",
    "BX505": "a run cannot be exported as it is",
    "BX506": "a JSON file of a bundle is not well-formed, or says something twice",
    "BX507": "a bundle's manifest names a file by more than a plain name",
    "BX508": "a file of a bundle is a link, or no ordinary file",
    "BX509": "a file of a bundle is larger than the stated limit",
    "BX510": "a bundle's manifest lacks something, or has a bad value",
    "BX511": "a bundle's table of heads lacks something, or has a bad value",
    "BX512": "the columns of a bundle's heads do not fit each other or the graph",
    "BX513": "a temperature or threshold of a bundle is not usable",
    "BX514": "a bundle's windows are longer than its encoder can read",
    "BX515": "a bundle's plain types stand for heads or types that it does not have",
    "BX516": "a bundle's tokenizer is damaged, or has a part that is not allowed",
    "BX517": "a bundle's tokenizer would cut or pad texts",
    "BX518": "a bundle's tokens lie outside its encoder's vocabulary",
    "BX519": "a file lies in a bundle that its manifest does not name",
    "BX520": "an ONNX file is cut short or not well-formed",
    "BX521": "an ONNX file has parts that are not known, or twice what may be there once",
    "BX522": "an ONNX file keeps data in another file",
    "BX523": "an ONNX file has an operator that is not allowed",
    "BX524": "an ONNX file is of another version, or uses operators of another domain",
    "BX525": "an ONNX file brings functions, training parts or device settings",
    "BX526": "an ONNX file has a subgraph",
    "BX527": "an ONNX file has a sparse tensor",
    "BX528": "an ONNX file has other inputs or outputs than a bundle's graph",
    "BX529": "an ONNX file goes beyond a stated limit",
    "BX530": "an ONNX file has more metadata or description than allowed",
    "BX531": "a constant of an ONNX file has a type or data that do not fit",
    "BX532": "the nodes of an ONNX file do not follow from each other",
    "BX533": "a node of an ONNX file has an attribute that is not allowed",
    "BX534": "an attribute of an ONNX file holds a tensor",
    "BX540": "the runtime cannot open or run a bundle's graph",
    "BX541": "a bundle does not answer its own examples as it should",
    "BX542": "a head loses more in int8 than was allowed",
    "BX543": "the transitions of a bundle's head are not usable",
    "BX601": "a text holds half a surrogate pair",
    "BX602": "a document was not wholly read, and that was forbidden",
    "BX603": "a document cannot be annotated",
    "BX604": "a worker process ended before its time",
    "BX605": "the target is in use, or holds work of other inputs or settings",
    "BX701": "documents are on one side of a score and not on the other",
    "BX702": "two documents of one side of a score have the same id",
    "BX703": "gold and prediction have different texts",
    "BX704": "there is too little, or nothing, to score",
    "BX705": "per-document counts, scores or logits have shapes that do not fit together",
    "BX706": "scores were taken on different documents and cannot be compared",
}


class BiomuxError(Exception):
    """The base of every error that a user can cause.

    >>> print(UsageError("BX001", "there is no type 'gen'", hint="did you mean 'gene'?"))
    BX001: there is no type 'gen'; did you mean 'gene'?
    """

    def __init__(self, code: str, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        if code not in CODES:
            raise KeyError(code)
        super().__init__(code, message, where, hint)
        self.code = code
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        way_out = f"; {self.hint}" if self.hint else ""
        return f"{self.code}: {place}{self.message}{way_out}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.message, self.where, self.hint)


def _rebuild(kind: type[BiomuxError], code: str, message: str, where: str | None, hint: str | None) -> BiomuxError:
    return kind(code, message, where=where, hint=hint)


class UsageError(BiomuxError):
    """The command line or a call asks for something that cannot be."""


class UnreadableError(UsageError):
    """The system does not give out a file or folder: one among several, so the others can be read."""


class DocumentError(BiomuxError):
    """A document contradicts itself."""


class FormatError(BiomuxError):
    """Bytes that a format cannot read, or a document that it cannot write."""


class CorpusError(BiomuxError):
    """A corpus is missing, incomplete or not what its card says."""


class RecipeError(BiomuxError):
    """A recipe has an unknown key or a bad value."""


class TrainingError(BiomuxError):
    """A run cannot start or cannot go on."""


class BundleError(BiomuxError):
    """A bundle is damaged, hostile or of another version."""


class AnnotateError(BiomuxError):
    """Documents cannot be annotated as asked."""


class ScoreError(BiomuxError):
    """Gold and predictions do not fit together."""
