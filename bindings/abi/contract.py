"""The contract as data, from what the headers declare and what their comments say."""

import re
from collections.abc import Callable
from typing import Any, Optional

import descriptions
from declarations import Contract, Declaration, Field

#: What the parameters of all functions have in common is told at the top of this header.
COMMON = "base.h"
_HANDED_OVER = "free_user_data"
#: Whose a result is, by the words of a comment.
_OWNERS = {
    "belongs to the caller": "caller",
    "borrowed": "borrowed",
    "onstant": "static",
    "user_data": "host",
}
#: What a caller passes again and again, so that it has to hold something valid before.
_REUSED = ("hf_buffer", "hf_entity", "hf_entity_list", "hf_receipt")


class Reader:
    """Puts the contract together, and collects what is missing on the way."""

    def __init__(self, contract: Contract, since: "Callable[[str], str]") -> None:
        self.contract = contract
        self.since = since
        self.by_name = {it.name: it for it in contract.declarations}
        self.problems: list[str] = []
        self.statuses = {name for name, _, _ in self.by_name["hf_status"].values}
        self.handles = {it.name for it in contract.declarations if it.kind == "handle"}
        self.callbacks = {it.name for it in contract.declarations if it.kind == "callback"}
        self.freed = {name.removesuffix("_free") for name in self.by_name if name.endswith("_free")}
        self._parameters: dict[str, dict[str, str]] = {}

    def read(self) -> "dict[str, Any]":
        """The contract as a value for JSON."""
        made: dict[str, list[dict[str, Any]]] = {
            "enum": [],
            "handle": [],
            "struct": [],
            "callback": [],
            "function": [],
        }
        for declaration in self.contract.declarations:
            made[declaration.kind].append(getattr(self, f"_{declaration.kind}")(declaration))
        constants = [
            {"name": name, "header": header, "value": value, "description": descriptions.sentence(comment)}
            for name, value, header, comment in self.contract.constants
        ]
        headers = [{"name": name, "description": head} for name, head in self.contract.heads.items()]
        return {"headers": headers, "constants": constants, **{f"{kind}s": made[kind] for kind in made}}

    # --- Types ----------------------------------------------------------------------------------------------

    def _head(self, declaration: Declaration, description: str = "") -> "dict[str, Any]":
        paragraphs = descriptions.prose(declaration.comment)
        description = description or "\n\n".join(paragraphs)
        if not description:
            self._refuse(declaration.name, "has no comment that describes it")
        made = {"name": declaration.name, "header": declaration.header, "description": description}
        # What is listed in it, such as options, stands in the whole of it alone.
        if descriptions.LISTED.search(declaration.comment):
            made["comment"] = declaration.comment
        return made

    def _enum(self, enum: Declaration) -> "dict[str, Any]":
        values = [
            {"name": name, "value": value, "description": descriptions.sentence(comment)}
            for name, value, comment in enum.values
        ]
        for value in values:
            if not value["description"]:
                self._refuse(value["name"], "has no comment that describes it")
        return {**self._head(enum, self._title(enum)), "values": values}

    def _handle(self, handle: Declaration) -> "dict[str, Any]":
        return {**self._head(handle, self._title(handle)), "free": self._free(handle.name)}

    def _title(self, declaration: Declaration) -> str:
        """The first words of a header are about the type that it is for."""
        own = descriptions.sentence(declaration.comment)
        title = descriptions.prose(self.contract.heads[declaration.header])[0].partition(": ")[2]
        return own or re.split(r"(?<=[.;:]) ", title)[0].rstrip(".;:")

    def _struct(self, struct: Declaration) -> "dict[str, Any]":
        fields = [
            {
                "name": it.name,
                "type": it.type,
                "offset": it.offset,
                "size": it.size,
                "description": descriptions.sentence(it.comment),
            }
            for it in struct.fields
        ]
        layout = {"size": struct.size, "alignment": struct.alignment, "free": self._free(struct.name)}
        return {**self._head(struct), **layout, "fields": fields}

    def _free(self, type_: str) -> Optional[str]:
        return f"{type_}_free" if type_ in self.freed else None

    # --- Functions ------------------------------------------------------------------------------------------

    def _callback(self, callback: Declaration) -> "dict[str, Any]":
        threads = descriptions.threads(callback.comment) or self._threads_of_takers(callback)
        if not threads and callback.name != "hf_function":
            self._refuse(callback.name, "says not on which thread it is called")
        return {
            **self._head(callback),
            "result": self._result(callback),
            "parameters": self._parameters_of(callback),
            "threads": threads,
        }

    def _threads_of_takers(self, callback: Declaration) -> str:
        """What is said of the thread where such a function is handed over, or else at the header's top."""
        for taker in self.contract.declarations:
            for parameter in taker.fields:
                if parameter.type == callback.name and taker.kind == "function":
                    said = descriptions.threads(self._told(taker).get(parameter.name, ""))
                    if said:
                        return said
        of_threads = [
            it for it in self.contract.heads[callback.header].split("\n\n") if it.startswith("Threads.")
        ]
        return descriptions.threads(of_threads[0] if of_threads else self.contract.heads[callback.header])

    def _function(self, function: Declaration) -> "dict[str, Any]":
        statuses = self._statuses(function.name, set()) if function.result == "hf_status" else {}
        if function.result == "hf_status" and not statuses and "Always HF_OK" not in function.comment:
            self._refuse(function.name, "says not which statuses it may answer")
        for extra in self._told(function).keys() - {it.name for it in function.fields}:
            self._refuse(function.name, f"describes a parameter {extra} that it has not")
        return {
            **self._head(function),
            "since": self.since(function.name),
            "must_use": function.must_use,
            "result": self._result(function),
            "parameters": self._parameters_of(function),
            "statuses": [{"name": name, "when": when} for name, when in statuses.items()],
            "thread": descriptions.thread(function.comment) or "Any thread",
            "blocks": descriptions.blocking(function.comment),
            "options": [it._asdict() for it in self._options(function)],
        }

    def _result(self, function: Declaration) -> "dict[str, Any]":
        result: dict[str, Any] = {"type": function.result}
        if "*" in function.result:
            text = descriptions.sentence(function.comment)
            words = {
                "belongs to the caller": "caller",
                "borrowed": "borrowed",
                "onstant": "static",
                "user_data": "host",
            }
            owner = next((owner for said, owner in words.items() if said in text), None)
            if owner is None:
                self._refuse(function.name, "says not whom its result belongs to")
            result["ownership"] = owner
            result["nullable"] = descriptions.may_be_null(text) and "never NULL" not in text
            result["free"] = self._free(_target(function.result)) if owner == "caller" else None
        return result

    def _told(self, function: Declaration) -> "dict[str, str]":
        if function.name not in self._parameters:
            names = [it.name for it in function.fields]
            self._parameters[function.name] = descriptions.parameters(function.comment, names)
        return self._parameters[function.name]

    def _description(self, function: Declaration, name: str, seen: "set[str]") -> str:
        """What is said of a parameter: here, where this refers to, at the top of the header, or in base.h."""
        if function.name in seen:
            return ""
        seen = seen | {function.name}
        text = self._told(function).get(name, "")
        if text:
            like = [
                self._description(self.by_name[it], name, seen)
                for it in self._known(descriptions.referred(text))
            ]
            return text if "NULL" in text else "; ".join([text, *filter(None, like)])
        for other in self._known(descriptions.alike(function.comment)):
            if found := self._description(self.by_name[other], name, seen):
                return found
        of_host = function.kind == "callback"
        heads = (self.contract.heads[header] for header in (function.header, COMMON))
        return next(filter(None, (descriptions.common(head, of_host).get(name) for head in heads)), "")

    def _known(self, names: "list[str]") -> "list[str]":
        return [name for name in names if name in self.by_name]

    def _parameters_of(self, function: Declaration) -> "list[dict[str, Any]]":
        partners = _partners(function)
        return [self._parameter(function, it, partners) for it in function.fields]

    def _parameter(self, function: Declaration, it: Field, partners: "dict[str, str]") -> "dict[str, Any]":
        description = self._description(function, it.name, set())
        target = _target(it.type)
        counted = next((name for name, length in partners.items() if length == it.name), None)
        if counted and description in ("", self._description(function, counted, set())):
            is_text = "char" in next(other.type for other in function.fields if other.name == counted)
            units = "in bytes, or HF_NTS" if function.kind == "function" else "in bytes"
            description = f"of {counted}: {units if is_text else 'how many'}"
        if not description and target in self.handles and it.type.count("*") == 1:
            description = self._title(self.by_name[target])
        if not description:
            self._refuse(function.name, f"does not describe {it.name}")
        made = {"name": it.name, "type": it.type, "direction": _direction(function, it)}
        if "*" in it.type or it.type in self.callbacks:
            of_any = re.search(r"\bfor NULL\b", function.comment) and target in self.handles
            optional = bool(it.name == "user_data" or function.name.endswith("_free") or of_any)
            made["nullable"] = optional or descriptions.may_be_null(description)
            made["length"] = partners.get(it.name)
            made.update(self._ownership(function, it, made["direction"]))
        return {**made, "description": description}

    def _ownership(self, function: Declaration, it: Field, direction: str) -> "dict[str, Any]":
        """Whose it is afterwards, and how long what is handed over has to live."""
        target = _target(it.type)
        if it.name == "user_data" or it.type in self.callbacks:
            kept = any(other.name == _HANDED_OVER for other in function.fields)
            lifetime = f"until {_HANDED_OVER} is called" if kept else "the call"
            if function.name == "hf_interrupt_set_check":
                lifetime = "until another is set, or the thread ends"
            return {"ownership": "host", "lifetime": lifetime}
        if it.name == _HANDED_OVER:
            return {"ownership": "host", "lifetime": "until it is called"}
        if function.name.endswith("_free"):
            return {"ownership": "consumed", "lifetime": "the call"}
        if direction != "in" and self._free(target) and (function.kind == "function" or target == "hf_error"):
            owner = "caller" if function.kind == "function" else "library"
            return {"ownership": owner, "free": self._free(target), "lifetime": "until it is freed"}
        return {"ownership": "borrowed", "lifetime": "the call"}

    def _options(
        self, function: Declaration, seen: "frozenset[str]" = frozenset()
    ) -> "list[descriptions.Option]":
        if function.name in seen or not any(it.name == "options" for it in function.fields):
            return []
        seen = seen | {function.name}
        own = descriptions.options(function.comment)
        text, excluded = (*self._told(function).get("options", "").split(" but ", 1), "")[:2]
        chosen, left_out = (set(re.findall(r'"(\w+)"', it)) for it in (text, excluded.split(", and")[0]))
        others: list[descriptions.Option] = []
        for other in self._known([*descriptions.referred(text), *descriptions.alike(function.comment)]):
            others += self._options(self.by_name[other], seen)
        if not others and not own:
            others = descriptions.options(self.contract.heads[function.header])
        own = [self._referred(it, others, seen) for it in own]
        taken = {it.name for it in own} | left_out
        inherited = [it for it in others if it.name not in taken and (not chosen or it.name in chosen)]
        if not own and not inherited:
            self._refuse(function.name, "does not say which options it takes")
        return [*own, *inherited]

    def _referred(
        self, option: descriptions.Option, others: "list[descriptions.Option]", seen: "frozenset[str]"
    ) -> descriptions.Option:
        """An option that is as another of this name, or holds for something besides, has that one's form."""
        if option.form.startswith("holds "):
            other = next(it for it in others if it.name == option.name)
            return other._replace(description=f"{other.description}; {option.form}")
        for name in self._known(descriptions.referred(option.form)):
            others = [*others, *self._options(self.by_name[name], seen)]
        as_other = next((it for it in others if it.name == option.name), None)
        return as_other if as_other and option.form.startswith("as ") else option

    def _statuses(self, name: str, seen: "set[str]") -> "dict[str, str]":
        """What a function may answer: by its comment, by what that refers to, and by its header's top."""
        if name in seen or name not in self.by_name:
            return {}
        seen.add(name)
        function = self.by_name[name]
        own, others = descriptions.statuses(function.comment, self.statuses)
        for other in [*others, *descriptions.alike(function.comment)]:
            for status, when in self._statuses(other, seen).items():
                own.setdefault(status, when)
        for paragraph in descriptions.prose(self.contract.heads[function.header]):
            for general in re.findall(r"(?:may answer|, and answer) ((?:[^.]|\.(?=\w))*)", paragraph):
                for status, when in descriptions.statuses(general, self.statuses)[0].items():
                    own.setdefault(status, when)
        return own

    def _refuse(self, name: str, what: str) -> None:
        self.problems.append(f"{name} {what}")


def _target(type_: str) -> str:
    """The type behind the pointers of another."""
    return type_.replace("const ", "").replace("*", "").replace("const", "").strip()


def _direction(function: Declaration, it: Field) -> str:
    """out where a function only fills it, inout where it has to hold something valid before."""
    if not it.type.endswith("*") or it.type.startswith("const ") or it.type.endswith("const *"):
        return "in"
    if it.name.startswith("out_"):
        return (
            "inout"
            if _target(it.type) in ("hf_buffer", "hf_entity", "hf_entity_list", "hf_receipt")
            else "out"
        )
    if it.name in ("events", "buffer") and not function.name.endswith("_free"):
        return "inout" if it.type == "hf_buffer *" else "out"
    return "inout" if _target(it.type) in _REUSED else "in"


def _partners(function: Declaration) -> "dict[str, str]":
    """The parameter that says how long, or how many, for each that another one says it of: the next one."""
    pairs = zip(function.fields, function.fields[1:])
    return {
        it.name: following.name
        for it, following in pairs
        if "*" in it.type and following.type == "size_t" and not it.name.startswith("out_")
    }
