"""Turn a recipe's teacher in the step into objectives and a model, so that the loop knows nothing of teachers or papers."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biomux.errors import RecipeError, TrainingError
from biomux.recipes.run_folder import RunFolder
from biomux.training import pretrained_head, teachers
from biomux.training.encoders import from_run, transformer
from biomux.training.encoders.layer_maps import layer_map
from biomux.training.encoders.tokenizer import file_of
from biomux.training.heads import masked_lm
from biomux.training.model import Model
from biomux.training.plan import FeatureObjective, Objective
from biomux.training.step_teacher import StepTeacher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenizers import Tokenizer

    from biomux.recipes.pretraining import DistilSettings
    from biomux.recipes.schema import FeatureLossSettings, LayerTeacher
    from biomux.tasks.examples import Unit
    from biomux.training.plan import Plan


def reader(settings: LayerTeacher, tokenizer: Tokenizer) -> StepTeacher:
    """The teacher's encoder, for a student that learns its layers; refused if its tokens differ from the student's."""
    encoder, _ = _encoder(settings, tokenizer)
    return _reading(encoder, {}, {})


def beside(
    settings: LayerTeacher | None, plan: Plan, student: Model, tokenizer: Tokenizer
) -> tuple[Plan, StepTeacher | None]:
    """The plan of a tagging recipe with the losses of its teacher's layers, and the teacher on the student's device; unchanged without a teacher."""
    if settings is None:
        return plan, None
    step_teacher = reader(settings, tokenizer)
    step_teacher.model.to(student.device)
    plan = with_features(plan, settings, student=student.encoder.depth, teacher=step_teacher.model.encoder.depth)
    if not plan.features:
        raise RecipeError(
            "BX306",
            "nothing is learned from the teacher: no layer has a weight",
            where="distil → features",
            hint="name layers and weights above 0, or leave out distil",
        )
    return plan, step_teacher


def teacher(settings: DistilSettings, head: str, tokenizer: Tokenizer) -> StepTeacher:
    """The teacher with its head for masked tokens; refused as by `reader`, or if it has no such head although its predictions are to be learned."""
    encoder, theirs = _encoder(settings, tokenizer)
    head_module = masked_lm.build(encoder.width, tokenizer.get_vocab_size(), encoder=encoder)
    head_weights = pretrained_head.read(settings.teacher, encoder.config.model_type)
    if head_weights is not None:
        pretrained_head.put(head_module, head_weights, old=theirs, new=tokenizer)
    elif settings.output is not None:
        raise TrainingError(
            "BX551",
            "cannot learn from this teacher's predictions: its weights have no head that predicts masked words",
            where=settings.teacher,
            hint="pre-train it first and name the resulting folder, or leave out distil.output",
        )
    return _reading(encoder, {head: head_module}, {head: "token"})


def _encoder(settings: LayerTeacher, tokenizer: Tokenizer) -> tuple[Any, Tokenizer]:
    """The encoder of a run, a folder or a hub name, and its tokenizer."""
    folder = Path(settings.teacher)
    encoder: Any
    encoder, theirs, _ = from_run.load(folder) if RunFolder(folder).trained else transformer.load(settings.teacher)
    if theirs.get_vocab() != tokenizer.get_vocab():
        raise TrainingError(
            "BX551",
            f"this teacher's vocabulary differs from its student's: {theirs.get_vocab_size():,} tokens, not {tokenizer.get_vocab_size():,}"
            if theirs.get_vocab_size() != tokenizer.get_vocab_size()
            else "this teacher's vocabulary differs from its student's",
            where=settings.teacher,
            hint="give model.encoder the teacher's tokenizer and vocabulary.kind: keep, or pre-train the teacher with the new vocabulary first",
        )
    return encoder, theirs


def _reading(encoder: Any, heads: dict[str, Any], units: dict[str, Unit]) -> StepTeacher:
    model = Model(encoder, heads, units)
    model.requires_grad_(False)
    return StepTeacher(model.eval())


def with_teacher(plan: Plan, settings: DistilSettings, head: str, *, student: int, teacher: int) -> Plan:
    """The plan with the teacher's losses; `student` and `teacher` are numbers of layers."""
    objectives = [
        replace(objective, weight=objective.weight * settings.words) for objective in plan.objectives if settings.words
    ]
    if settings.output is not None:
        output = settings.output
        options: dict[str, Any] = {} if output.loss == "logit-mse" else {"temperature": output.temperature}
        if output.loss == "kl-divergence":
            options["direction"] = output.direction
        objectives.append(Objective(output.loss, head, output.weight, "step-teacher", options))
    return with_features(replace(plan, objectives=tuple(objectives)), settings, student=student, teacher=teacher)


def with_features(plan: Plan, settings: LayerTeacher, *, student: int, teacher: int) -> Plan:
    """The plan with a loss for each pair of layers; `student` and `teacher` are numbers of layers."""
    if not plan.moves("encoder."):
        raise RecipeError(
            "BX560",
            "a frozen encoder cannot learn a teacher's layers",
            where="distil",
            hint="choose another regime, or leave out distil",
        )
    features = [
        feature for part in settings.features for feature in _features(part, settings, student=student, teacher=teacher)
    ]
    names = [feature.name for feature in features]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RecipeError(
            "BX306", f"{twice!r} is given twice", where="distil → features", hint="give each layer one such loss"
        )
    return replace(plan, features=tuple(features))


def _features(
    part: FeatureLossSettings, settings: LayerTeacher, *, student: int, teacher: int
) -> Iterator[FeatureObjective]:
    if part.layers == "embeddings":
        pairs = [(0, 0)]
    elif part.layers == "last":
        pairs = [(student, teacher)]
    else:
        mapped = layer_map(settings.map, teacher=teacher, student=student)
        chosen = range(1, student + 1) if part.layers == "all" else part.layers
        if bad := next((layer for layer in chosen if layer > student), None):
            raise RecipeError(
                "BX306",
                f"the student has no layer {bad}",
                where="distil → features → layers",
                hint=f"name layers from 1 to {student}",
            )
        pairs = [(layer, mapped[layer - 1]) for layer in chosen]
    weights = part.weight if isinstance(part.weight, tuple) else (part.weight,) * len(pairs)
    if len(weights) != len(pairs):
        raise RecipeError(
            "BX306",
            f"there must be one weight for each of the {len(pairs)} layers, got {len(weights)}",
            where="distil → features → weight",
            hint="give one number, or one for each layer",
        )
    for (ours, theirs), weight in zip(pairs, weights, strict=True):
        if weight:
            yield FeatureObjective(part.loss, ours, theirs, weight)


def checksum(settings: LayerTeacher | None) -> str | None:
    """A checksum of a teacher's weights and vocabulary; None without a teacher."""
    if settings is None:
        return None
    if RunFolder(Path(settings.teacher)).trained:
        return teachers.checksum(Path(settings.teacher))
    if file_of(settings.teacher, "config.json") is None:
        raise TrainingError(
            "BX401",
            f"cannot load the teacher {settings.teacher!r}: it has no config.json",
            where="distil → teacher",
            hint="give a finished run, the folder of an encoder, or a hub name (needs a network)",
        )
    digest = sha256()
    for name in ("model.safetensors", "config.json", "tokenizer.json", "vocab.txt"):
        file = file_of(settings.teacher, name)
        if file is not None:
            with Path(file).open("rb") as stream:
                while data := stream.read(1 << 20):
                    digest.update(data)
    return digest.hexdigest()
