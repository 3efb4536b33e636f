"""Every error code with its meaning, its usual cause and the way out: docs/reference/errors.md is made from this table."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """What the page of errors says about a code."""

    meaning: str
    cause: str
    fix: str


CODES: dict[str, Entry] = {
    "BX001": Entry(
        "an argument of a command or a call is not usable",
        "An option, argument or setting has a value that is not allowed, or two of them contradict each other.",
        "The message names the argument and what it accepts. `biomux COMMAND --help` lists all options.",
    ),
    "BX002": Entry(
        "a file or folder does not exist, or cannot be read or written",
        "The path is misspelled, permissions are missing, the disk is full, or memory ran out.",
        "Check the path, the permissions and the free space. Quote globs so that the shell does not expand them.",
    ),
    "BX003": Entry(
        "an optional part of Biomux is not installed",
        "The command needs a package that the plain installation leaves out, such as torch, pyarrow or openvino; or a plugin cannot be imported.",
        "Install the extra that the message names, for instance `pip install 'biomux[train]'`.",
    ),
    "BX004": Entry(
        "the output already exists",
        "Biomux never replaces a file or folder unless you ask for it.",
        "Add `--overwrite`, or choose another name.",
    ),
    "BX101": Entry(
        "a span, passage, sentence, token or answer is empty or lies outside its text",
        "Offsets were made for another text, count bytes instead of characters, or include the last character.",
        "Give offsets in characters of this text, end exclusive, at least one character long.",
    ),
    "BX102": Entry(
        "a relation refers to a span that the document does not have",
        "The span was removed or renamed, or the relation belongs to another document.",
        "Use the id of a span or relation of the same document, or an argument of kind `concept`.",
    ),
    "BX103": Entry(
        "an offset in bytes or UTF-16 units lies inside a character or outside the text",
        "The offset was counted in other units, or for another text.",
        "Check which units the producer counts in, and that the text is unchanged.",
    ),
    "BX104": Entry(
        "a field of a document has a value of the wrong type",
        "A document was made with, say, a number where a string belongs.",
        "Convert the value before you make the document.",
    ),
    "BX110": Entry(
        "the format of a file is unknown",
        "Neither the name nor the first bytes of the file match a format, or you named a format that does not exist.",
        "Name the format with `--from` or `--to`; `biomux formats` lists them.",
    ),
    "BX111": Entry(
        "a file is not in the expected encoding",
        "The file is not UTF-8 (for XML: not in the encoding that it declares).",
        "Convert it, for instance with `iconv -f LATIN1 -t UTF-8`.",
    ),
    "BX112": Entry(
        "a compressed file or archive is damaged or truncated",
        "The download or copy was interrupted.",
        "Download or copy it again.",
    ),
    "BX113": Entry(
        "a record is malformed",
        "A line, row or element does not have the structure that its format requires.",
        "The message gives the line. Correct it, or skip such records with `--on-error skip`; if every record fails, the format was probably recognised wrongly: name it with `--from`.",
    ),
    "BX114": Entry(
        "offsets in a record lie outside its text",
        "The producer counted in other units, or the text was changed after it was annotated.",
        "Check how the offsets were counted; some formats have an option for it (`-O offsets=bytes`, `-O offsets=utf16`).",
    ),
    "BX115": Entry(
        "the text at a record's offsets differs from the mention that it states",
        "The text was changed after it was annotated, or the offsets count other units or another text.",
        "Export text and annotations again from the same source, or choose the right units with `-O offsets=…`.",
    ),
    "BX116": Entry(
        "a column or field is missing",
        "A table has no column, or an object no key, that the format needs.",
        "Add it, or name the right one: `--text title,abstract`, `--id pmid`.",
    ),
    "BX117": Entry(
        "XML or JSON is not well-formed",
        "The file is truncated, or was edited or concatenated by hand.",
        "Repair the file at the line that the message gives, or download it again.",
    ),
    "BX118": Entry(
        "an XML file declares or uses entities",
        "Biomux never expands entities: a small file could grow without limit, or pull in other files.",
        "If you trust the file, expand them first, for instance with `xmllint --noent`.",
    ),
    "BX119": Entry(
        "a companion file is missing",
        "The format spreads a document over several files (`.ann` and `.txt`, tables of entities and relations), and one of them is not there.",
        "Put all of them into one folder, and keep their names.",
    ),
    "BX120": Entry(
        "a format cannot be written, or cannot hold this document",
        "The format is read-only, or the document has something that the format has no place for, such as a tab in a cell or a character that XML does not allow.",
        "Write to `jsonl`, which holds everything, or skip such documents with `--on-error skip`.",
    ),
    "BX121": Entry(
        "a record is longer than the limit",
        "One line, row or object exceeds the size up to which files are streamed.",
        "Split the record; for plain text, `--from lines` makes each line a document.",
    ),
    "BX122": Entry(
        "a file was written by a later version of Biomux",
        "Its layout is newer than this version can read.",
        "Upgrade Biomux.",
    ),
    "BX130": Entry(
        "the target format cannot hold everything, and `--strict-loss` was given",
        "The documents have annotations that the target has no place for.",
        "Choose a format that holds them (`biomux formats`), or leave out `--strict-loss`.",
    ),
    "BX201": Entry(
        "no corpus has that name",
        "The name is misspelled, or the corpus is not in the catalogue.",
        "`biomux corpora list` shows all names.",
    ),
    "BX202": Entry(
        "the corpora directory does not exist, or the configuration that names it cannot be read",
        "The folder that `--corpora`, `BIOMUX_CORPORA` or `~/.config/biomux/config.yaml` names does not exist; or none of them is set, and there is no `./corpora`.",
        "Give `--corpora DIR`, or set `BIOMUX_CORPORA`.",
    ),
    "BX203": Entry(
        "a file of a corpus is missing",
        "The corpus was not downloaded, or only in part.",
        "Run `biomux corpora fetch NAME`: it downloads the file or says where to get it.",
    ),
    "BX204": Entry(
        "a file or count of a corpus differs from its card",
        "The file is damaged or edited, or its public copy has changed.",
        "Fetch it again; `biomux corpora check --only NAME` shows every difference.",
    ),
    "BX205": Entry(
        "a corpus is only available on application",
        "Its owners require a data use agreement, so Biomux cannot download it.",
        "Apply where the message says, then put the files where it says.",
    ),
    "BX206": Entry(
        "the card of a corpus is not valid",
        "A card has unknown keys or bad values, or its name differs from the name of its file.",
        "Correct the keys that the message lists.",
    ),
    "BX207": Entry(
        "a corpus has no such split or type, or a view or group is not usable",
        "A name in `--split`, in `NAME[Type]` or in a recipe does not exist in that corpus.",
        "`biomux corpora show NAME` lists splits and types.",
    ),
    "BX208": Entry(
        "a download failed",
        "There is no network, the server refused, or the file has no direct address.",
        "Try again (a partial download is resumed), or get the file by hand as the message says.",
    ),
    "BX210": Entry(
        "a recipe's `corpus:` does not describe your own data correctly",
        "A key is misspelled, a value has the wrong kind, or a part is named twice.",
        "Write a path, or `{train: FILES, devel: FILES, test: FILES, format: NAME}`; see [your own data](../how-to/own-data.md).",
    ),
    "BX211": Entry(
        "a part of your own data is missing, ambiguous, too small or named twice",
        "No file is called train, a name means two splits, or there are too few documents to cut a part from.",
        "Name the files by split: `corpus: {train: …, devel: …, test: …}`.",
    ),
    "BX212": Entry(
        "files of your own data have no annotations, or are of different formats",
        "Plain text lies among annotated files, or the files of one split were written by different programs.",
        "Name the files and their format: `corpus: {train: FILES, format: NAME}`; `biomux formats` lists all.",
    ),
    "BX213": Entry(
        "your own data cannot be trained on as they are",
        "The training part has no annotation of the types that you want, or no annotation at all.",
        "`biomux corpora check PATH` shows what the data hold.",
    ),
    "BX301": Entry(
        "a recipe cannot be read",
        "The file is not UTF-8 text or not valid YAML.",
        "Check the indentation at the line that the message gives.",
    ),
    "BX302": Entry(
        "a recipe has unknown keys or bad values",
        "A key is misspelled, in the wrong section, or has a value out of range. The message lists all mistakes.",
        "Correct them; [recipes](recipes.md) lists every key.",
    ),
    "BX303": Entry(
        "no recipe or study has that name",
        "The name is misspelled, or the path of the file is wrong.",
        "Give a file, or one of the names in [recipes](recipes.md).",
    ),
    "BX304": Entry(
        "a value given with `--set` is not usable",
        "It is not of the form `a.b=value`, its value is not YAML, or its path leads through something that has no keys.",
        "Write, for instance, `--set loop.epochs=2`.",
    ),
    "BX305": Entry(
        "the parts of a recipe or study do not fit together",
        "Each part is valid, but not with the others: a regime for one task with two tasks, a weight for a task that does not exist.",
        "Change one of the parts that the message names.",
    ),
    "BX306": Entry(
        "no kind of task, head, regime or objective has that name, or it has no such setting",
        "The name is misspelled, or the setting belongs to another kind.",
        "[Recipes](recipes.md) lists the kinds and their settings.",
    ),
    "BX307": Entry(
        "corpora, splits or types of a recipe are missing",
        "Several tasks of the recipe need something that the corpora directory does not have. The message lists everything.",
        "Fetch the corpora with `biomux corpora fetch`, or remove these tasks.",
    ),
    "BX308": Entry(
        "a recipe cannot be added to a bundle as a further head",
        "Only taggers can be added, under a name and with types that the bundle does not have yet, and they need development documents.",
        "Rename the task or the types in the recipe, or train it by itself without `--with`.",
    ),
    "BX401": Entry(
        "an encoder, tokenizer or vocabulary cannot be loaded",
        "The folder lacks a file, the hub name is wrong or there is no network, or the encoder cannot do what the recipe asks.",
        "Give a folder with `config.json`, `model.safetensors` and `tokenizer.json` or `vocab.txt`, or check the hub name.",
    ),
    "BX402": Entry(
        "a checkpoint or model cannot be saved",
        "The disk is full or the folder is not writable.",
        "Free some disk space, then run `biomux train --resume RUN`; the previous checkpoint is intact.",
    ),
    "BX403": Entry(
        "a loss or weight is not a finite number",
        "Training diverged, usually because the learning rate is too high.",
        "Lower `loop.learning_rate` and start again, or resume from the last checkpoint, which is intact.",
    ),
    "BX404": Entry(
        "there is nothing to train on or to score",
        "A split is empty, or no document has annotations that the task can learn from.",
        "Check the task's corpus, split and types; `biomux corpora stats NAME` counts what is there.",
    ),
    "BX405": Entry(
        "a run's folder is in use, missing, or belongs to another recipe",
        "Another process trains there, the path is wrong, or the recipe, the data or (with `loop.local_steps`) the number of processes changed since the run started.",
        "Wait, name another folder with `--run`, or restore what the run was started with.",
    ),
    "BX406": Entry(
        "a run's model cannot be loaded",
        "A file of the run is damaged, or was written by another version of Biomux.",
        "Restore the files, resume the run, or train again.",
    ),
    "BX407": Entry(
        "several processes cannot share the training",
        "The number of batches per step is not a multiple of the number of processes, or processes whose weights move apart (`loop.local_steps`) are to keep running averages (`loop.ema`).",
        "Set `loop.accumulate` to a multiple of the number of processes; with `loop.local_steps`, set `loop.ema` to 0.",
    ),
    "BX408": Entry(
        "a device or its arithmetic is not available",
        "The recipe asks for CUDA, bf16 or fp16, and this machine does not have it.",
        "Set `loop.device` or `loop.precision` to `auto`.",
    ),
    "BX409": Entry(
        "a task has training examples, but no positive one",
        "The types that the task names do not occur in the training split.",
        "Check the types and the split of the task.",
    ),
    "BX420": Entry(
        "word vectors are missing, or in a file that cannot be read",
        "The path is wrong, or the file is not word2vec text, word2vec binary or `.npz`.",
        "Check the path and convert the file to one of these.",
    ),
    "BX421": Entry(
        "a file of word vectors is truncated",
        "It ends before the number of words that it announces.",
        "Download it again.",
    ),
    "BX422": Entry(
        "a word vector has the wrong size or a value that is not a number",
        "The file is damaged, or of another kind than its name says.",
        "Check its format, or download it again.",
    ),
    "BX423": Entry(
        "a file of word vectors is not UTF-8",
        "A word has bytes that are not valid UTF-8.",
        "Convert the file to UTF-8.",
    ),
    "BX424": Entry(
        "a bundle's tables of words do not fit together",
        "`words.txt` does not have one line for each vector in `words.onnx`, or the encoder reads vectors of another size.",
        "Copy or download the bundle again, or export the run again.",
    ),
    "BX450": Entry(
        "a student's features cannot be compared with its teacher's",
        "A loss names a layer that the student or the teacher does not have, their attention maps have different numbers of heads, or there is no teacher.",
        "Name layers that both have, and give the student as many attention heads as its teacher.",
    ),
    "BX451": Entry(
        "a teacher may have learned from text that its student holds out",
        "The teacher was trained without leaving out the development and test parts that the student is scored on, or it is a bundle, which does not say what it left out.",
        "Train the teacher with the same `hold_out` and `leaks: filter`; or, for a bundle whose training you know, set teacher.unchecked to true.",
    ),
    "BX452": Entry(
        "a teacher cannot teach a task",
        "The teacher has no head for the task, its head has other labels, or its answers cannot be learned word by word, which is so for a conditional random field.",
        "Name the head in teacher.heads, or take a teacher that was trained on the same labels with a linear, two-layer or BiLSTM head.",
    ),
    "BX455": Entry(
        "the encoder of a bundle cannot be tuned",
        "Light tuning computes the bundle's graph in torch, and the graph has an operator that cannot be computed there, such as the LSTM of a BiLSTM head.",
        "Add the head with `--way frozen`, which does not train the encoder.",
    ),
    "BX456": Entry(
        "light tuning changed too many of the old answers",
        "More of the entities that the other heads find in the development documents changed than `--tolerance` allows, even when the weights were changed only a quarter of the way.",
        "Allow more with `--tolerance`, or use `--way best`, which then falls back to the frozen encoder.",
    ),
    "BX501": Entry(
        "there is no bundle",
        "The name or path does not lead to a bundle, or this installation came without one.",
        "Name a folder that `biomux export` made.",
    ),
    "BX502": Entry(
        "a bundle has another format or version",
        "It was made by a version of Biomux whose layout differs.",
        "Use the version that made it, or export the run again.",
    ),
    "BX503": Entry(
        "a file of a bundle is missing or differs from the manifest",
        "The bundle was copied incompletely, or edited.",
        "Copy or download it again, or export the run again.",
    ),
    "BX505": Entry(
        "a run cannot be exported as it is",
        "It has no head that can be exported, or its encoder has an operation that a bundle does not allow.",
        "The message says what to change; `--heads` exports some heads only.",
    ),
    "BX506": Entry(
        "a JSON file of a bundle is not well-formed, or contains a key twice",
        "The file is damaged, or was edited by hand.",
        "Copy or download the bundle again.",
    ),
    "BX507": Entry(
        "a bundle's manifest names a file by more than a plain name",
        "A path such as `../x` could reach files outside the bundle.",
        "Do not use this bundle unless you know who made it.",
    ),
    "BX508": Entry(
        "a file of a bundle is a link or not a regular file",
        "Links could lead outside the bundle.",
        "Replace the link by the file itself, or download the bundle again.",
    ),
    "BX509": Entry(
        "a file of a bundle is larger than the limit",
        "The file is not what the bundle should hold.",
        "Download the bundle again; do not use one whose origin you do not know.",
    ),
    "BX510": Entry(
        "a bundle's manifest lacks something or has a bad value",
        "The manifest is damaged, or was written by another tool.",
        "Download or export the bundle again.",
    ),
    "BX511": Entry(
        "a bundle's table of heads lacks something or has a bad value",
        "`heads.json` is damaged, or was written by another tool.",
        "Download or export the bundle again.",
    ),
    "BX512": Entry(
        "the columns of a bundle's heads do not match each other or the graph",
        "Files of different bundles were mixed.",
        "Download or export the bundle again.",
    ),
    "BX513": Entry(
        "a temperature or threshold of a bundle is not usable",
        "The calibration has values out of range or out of order.",
        "Download or export the bundle again.",
    ),
    "BX514": Entry(
        "a bundle's windows are longer than its encoder can read",
        "The manifest was changed, or files of different bundles were mixed.",
        "Download or export the bundle again.",
    ),
    "BX515": Entry(
        "a bundle's plain types refer to heads or types that it does not have",
        "`types.json` was edited, or the bundle was exported with other heads.",
        "Export the bundle again with a fitting `--types` file.",
    ),
    "BX516": Entry(
        "a bundle's tokenizer is damaged or has a part that is not allowed",
        "Only the parts listed in [bundles](bundles.md) are accepted.",
        "Download or export the bundle again.",
    ),
    "BX517": Entry(
        "a bundle's tokenizer would truncate or pad texts",
        "Biomux cuts texts into windows itself; a tokenizer that truncates would drop text silently.",
        "Export the bundle again.",
    ),
    "BX518": Entry(
        "a bundle's tokens lie outside its encoder's vocabulary",
        "The tokenizer and the graph come from different models.",
        "Export the bundle again.",
    ),
    "BX519": Entry(
        "a bundle holds a file that its manifest does not name",
        "Something was added to the folder.",
        "Remove the file.",
    ),
    "BX520": Entry(
        "an ONNX file is truncated or not well-formed",
        "The download or copy was interrupted.",
        "Download or export the bundle again.",
    ),
    "BX521": Entry(
        "an ONNX file has unknown parts, or repeats one that may occur only once",
        "It was made by another tool, or to attack the reader.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX522": Entry(
        "an ONNX file keeps data in another file",
        "A bundle's graph must be complete in itself.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX523": Entry(
        "an ONNX file has an operator that is not allowed",
        "A bundle's graph may hold plain arithmetic only; [bundles](bundles.md) lists the operators.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX524": Entry(
        "an ONNX file has another version, or uses operators of another domain",
        "It was made by another tool, or another version of Biomux.",
        "Export the run again with this version.",
    ),
    "BX525": Entry(
        "an ONNX file has functions, training parts or device settings",
        "A bundle's graph must not hold them.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX526": Entry(
        "an ONNX file has a subgraph",
        "Loops and conditions are not allowed in a bundle's graph.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX527": Entry(
        "an ONNX file has a sparse tensor",
        "A bundle's graph must not hold sparse tensors.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX528": Entry(
        "an ONNX file has other inputs or outputs than a bundle's graph",
        "The graph was not made for Biomux.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX529": Entry(
        "an ONNX file exceeds a limit",
        "It has more nodes, dimensions or bytes than any bundle needs.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX530": Entry(
        "an ONNX file has more metadata or description than allowed",
        "Bundles keep their metadata in the manifest.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX531": Entry(
        "a constant of an ONNX file has a type that is not allowed, or the wrong amount of data",
        "The file is damaged, or was made to attack the reader.",
        "Download or export the bundle again.",
    ),
    "BX532": Entry(
        "the nodes of an ONNX file do not connect",
        "A node reads a value that nothing before it computes, or a name is used twice.",
        "Download or export the bundle again.",
    ),
    "BX533": Entry(
        "a node of an ONNX file has an attribute that is not allowed",
        "Each operator may have only the attributes that Biomux knows.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX534": Entry(
        "an attribute of an ONNX file holds a tensor",
        "Tensors are allowed only among the constants.",
        "Use only bundles that `biomux export` made.",
    ),
    "BX540": Entry(
        "the runtime cannot open or run a bundle's graph",
        "The runtime is too old, memory ran out, or the graph is damaged.",
        "Run `biomux verify BUNDLE`; upgrade onnxruntime or openvino, or download the bundle again.",
    ),
    "BX541": Entry(
        "a bundle does not reproduce its own examples",
        "The weights are damaged, or the runtime computes something else on this machine.",
        "Download the bundle again; if that does not help, try the other `--runtime` and report it.",
    ),
    "BX542": Entry(
        "a head loses more with int8 than is allowed",
        "Quantization changed the head's scores on development documents by more than `--tolerance`.",
        "Export with `--precision auto` or `fp32`, or raise `--tolerance`.",
    ),
    "BX543": Entry(
        "the transitions of a bundle's head are not usable",
        "The CRF's table has the wrong size or values that are not numbers.",
        "Download or export the bundle again.",
    ),
    "BX544": Entry(
        "a head has no graph",
        "`biomux export` cannot write this kind of head: it comes from another package, or is used only in training.",
        "Leave it out with `--heads`, or run it from the run's folder: `biomux.load(RUN)`.",
    ),
    "BX545": Entry(
        "a bundle has a task of an unknown kind",
        "The task comes from a package that is not installed, or from a later Biomux.",
        "Install the package that brings the task, or upgrade Biomux.",
    ),
    "BX550": Entry(
        "there is no text to pre-train on, or to score",
        "No files are named, they contain no words, or no document fell into the share that is held out.",
        "Name files or folders; for files with one document per line, set text.format to lines; or set text.held_out to 0 or to other files.",
    ),
    "BX551": Entry(
        "a teacher cannot teach this student during training",
        "The teacher has another vocabulary, or the student should learn its predictions but its weights have no head that predicts masked words.",
        "Give the student the teacher's tokenizer; pre-train the teacher first, or leave out distil.output.",
    ),
    "BX552": Entry(
        "a recipe has no small variant",
        "`--small` uses the section `small` of the recipe, and this recipe has none.",
        "Leave out --small, or add the section.",
    ),
    "BX560": Entry(
        "a frozen encoder cannot learn a teacher's layers",
        "The regime leaves the encoder as it is, so losses between its layers and those of a teacher change nothing.",
        "Choose a regime that trains the encoder, or leave out the section distil.",
    ),
    "BX561": Entry(
        "a loss does not suit the task that a teacher teaches",
        "kl-divergence and soft-cross-entropy compare one choice among labels; the task has several labels at once, or a number.",
        "Set teacher.loss to logit-mse, or leave the task out of teacher.only.",
    ),
    "BX562": Entry(
        "nothing can be learned from text without labels",
        "The recipe names a head that no teacher teaches, the teachers are not sure of anything in the text, or no task can learn from plain text.",
        "Name heads that a teacher teaches, lower teacher.text.confidence, and check the files.",
    ),
    "BX601": Entry(
        "a text has half a surrogate pair",
        "The text was cut or decoded wrongly: half a pair is not a character.",
        "Repair the text where it was made.",
    ),
    "BX602": Entry(
        "part of a document was not read, and `--strict` was given",
        "The document has sentences that do not cover its whole text.",
        "Give sentences that cover the text, or none, or leave out `--strict`.",
    ),
    "BX603": Entry(
        "a document cannot be annotated",
        "The document made the engine fail; others are not affected.",
        "Check that the text is what you expect; if it is, please report it.",
    ),
    "BX604": Entry(
        "a worker process ended unexpectedly",
        "Usually, memory ran out, or something killed the process.",
        "Repeat the command to resume; use fewer `--workers` or a smaller `--part-size`.",
    ),
    "BX605": Entry(
        "the target is in use, or holds results for other inputs or settings",
        "Another command is writing there, or you repeated a command with other inputs or options.",
        "Repeat the same command to resume, name another target, or start over with `--restart`.",
    ),
    "BX606": Entry(
        "relations cannot be scored between the entities that the model finds",
        "The model has no head that finds entities, or the relations of the corpus are between concepts, and the entities that a model finds have no identifiers.",
        "Leave out `--found-entities`, or choose a model that finds entities and a corpus whose relations are between mentions.",
    ),
    "BX610": Entry(
        "the model has no head for this task",
        "A model finds what it was trained for: the one that comes with Biomux finds entities.",
        "Name a model that has such a head with `--model`, or train one.",
    ),
    "BX611": Entry(
        "a head for pairs got a document without a second text",
        "Similarity and inference compare two texts; this record has one.",
        "Give pairs of texts, and name their columns with `--text` and `--pair` if they are not recognised.",
    ),
    "BX612": Entry(
        "a head for answers got a document without a question",
        "A head for answers needs the question: the document must contain it.",
        "Ask with `biomux ask`, or give documents with questions.",
    ),
    "BX613": Entry(
        "a pair of texts is longer than the model reads, and `--strict` was given",
        "Both texts are read together, and the end of the longer one was left out.",
        "Shorten the texts, or leave out `--strict`.",
    ),
    "BX620": Entry(
        "a task was lost on the cluster too many times",
        "Processes or nodes ended while they worked on it, usually because memory ran out or machines were taken away.",
        "Repeat the command to resume; use a smaller `--part-size`, more `--cpus-per-task` or more `--retries`.",
    ),
    "BX621": Entry(
        "a Ray cluster cannot be reached or started",
        "The address is wrong, the cluster is not running, or it has other versions of Ray or Python than this machine.",
        "Check with `ray status` on the cluster; for `ray://` the port is that of the Ray client server, usually 10001.",
    ),
    "BX622": Entry(
        "Biomux cannot write to a URL",
        "The address is wrong, the bucket does not exist, or the credentials are missing or not sufficient.",
        "Check the address, and that the same credentials are set on every node.",
    ),
    "BX623": Entry(
        "a node has another version of Biomux",
        "Different versions may give different results, so they must not write to the same output.",
        "Install the same version on every node.",
    ),
    "BX624": Entry(
        "a node does not see the folder that the job writes to",
        "The folder is on the disk of one machine, or is mounted under another path elsewhere.",
        "Write to a folder that all nodes share under the same path, or to a URL such as `s3://bucket/out/`.",
    ),
    "BX625": Entry(
        "the copy of a bundle on a node has been changed",
        "The temporary folder of that node has a changed copy, or a copy that belongs to another user.",
        "Remove the folder that the message names, on that node, and repeat the command.",
    ),
    "BX626": Entry(
        "no node of the cluster is large enough for a task",
        "`--cpus-per-task` asks for more CPUs than any node has.",
        "Lower `--cpus-per-task`, or start a larger node.",
    ),
    "BX640": Entry(
        "the bundle of a pickled tagger has changed",
        "The folder now holds another bundle, or the other machine has another version of Biomux, whose bundle differs.",
        "Use the same bundle everywhere, or load the tagger where it is used with `biomux.load(PATH)`.",
    ),
    "BX641": Entry(
        "a data frame cannot be annotated",
        "It is not a pandas, Polars or Arrow frame, or a column that you named is missing, occurs twice, or would be overwritten.",
        'Convert it, or name the column with the texts: `biomux.annotate_frame(frame, text="abstract")`.',
    ),
    "BX701": Entry(
        "gold and predictions do not have the same documents",
        "The two sides come from different splits, or documents without entities were left out.",
        "Score the same documents on both sides; a document without entities must still be there.",
    ),
    "BX702": Entry(
        "two documents of the gold, or of the predictions, have the same id",
        "Files were concatenated, or ids restart in each file.",
        "Give every document a unique id.",
    ),
    "BX703": Entry(
        "gold and prediction have different texts",
        "The text was changed between annotation and prediction.",
        "Predict on the unchanged text of the gold documents.",
    ),
    "BX704": Entry(
        "there is too little, or nothing, to score",
        "Nothing is left after filters, or a test needs more systems or corpora.",
        "The message says what is missing; choose another split or more systems.",
    ),
    "BX705": Entry(
        "counts, scores or logits have shapes or values that do not fit together",
        "Files of scores were edited, or written by another version.",
        "Score again.",
    ),
    "BX706": Entry(
        "scores were measured on different documents and cannot be compared",
        "The systems were scored on different splits or with different filters.",
        "Score all systems on the same split of the same corpus.",
    ),
    "BX801": Entry(
        "a request is not HTTP, or its body is not JSON",
        "The body is not UTF-8, is incomplete, contains NaN or is nested too deeply; or the headers are too large.",
        "Send a JSON object in UTF-8.",
    ),
    "BX802": Entry(
        "a request has a missing, unknown or unusable field",
        "A key is misspelled, or a value has the wrong type. `/docs` of the service lists all fields.",
        "The message names the field and what it accepts.",
    ),
    "BX803": Entry(
        "a request is larger than the service allows",
        "The body, the number of documents or the tokens of all texts exceed a limit; `/info` states the limits.",
        "Send several smaller requests, or start the service with a higher limit.",
    ),
    "BX804": Entry(
        "the body of a request did not arrive in time",
        "The client or the network is slow, or the client stopped sending.",
        "Send the request again, or start the service with a higher `--body-timeout`.",
    ),
    "BX805": Entry(
        "a request has a content type that the service does not read",
        "The service reads JSON only; `curl -d` sends a form unless told otherwise.",
        "Send the header `Content-Type: application/json`.",
    ),
    "BX806": Entry(
        "the service cannot answer in the format that the request names",
        "The `Accept` header allows none of the formats, or `format` names an unknown one.",
        "Ask for a format that the message lists.",
    ),
    "BX807": Entry(
        "a request has no valid API key",
        "The service was started with `--api-key-file`, and the key is missing or wrong.",
        "Send `Authorization: Bearer KEY`; in a browser, give the key as the password.",
    ),
    "BX808": Entry(
        "the service has no such address, or the address does not accept this method",
        "The path is misspelled, or GET was used in place of POST.",
        "`/docs` of the service lists all addresses.",
    ),
    "BX809": Entry(
        "the service is busy and its queue is full",
        "Requests arrive faster than the machine can answer them.",
        "Send the request again after the seconds in the `Retry-After` header.",
    ),
    "BX810": Entry(
        "the service could not answer in time, or is stopping",
        "The request waited longer than `--timeout`, or the service is being stopped.",
        "Send the request again after the seconds in the `Retry-After` header; send fewer texts at once.",
    ),
    "BX811": Entry(
        "the service failed",
        "This is a bug in Biomux.",
        "Please report it, with the log line of this request id.",
    ),
    "BX812": Entry(
        "the service cannot listen on this address",
        "Another program uses the port, or the host is not an address of this machine.",
        "Choose another `--port` or `--host`.",
    ),
    "BX813": Entry(
        "the file with API keys cannot be used",
        "The file is missing, empty, or holds a key that is too short.",
        "Write one key per line, each of at least 16 characters without spaces.",
    ),
    "BX814": Entry(
        "a Label Studio project cannot be pre-annotated",
        "Its labelling interface has no text with labels, or a task has no such text.",
        "Use an interface with `<Text>` and `<Labels>`, and tasks with that text.",
    ),
}
"""Code → its entry, in order. Codes never change: users search for them."""
