import { useState, type FormEvent, type ReactNode } from "react";
import { toPath, type Path } from "./draft.ts";

/** A value that does not stand in the config yet. */
export function AddValue(props: {
  /** Why nothing can be changed. */
  readonly reason: string | undefined;
  readonly onAdd: (path: Path) => void;
}): ReactNode {
  const [text, setText] = useState("");
  const isOff = props.reason !== undefined;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isOff || text.trim() === "") return;
    props.onAdd(toPath(text));
    setText("");
  };
  return (
    <form className="row" onSubmit={submit}>
      <input
        data-effect="field"
        aria-label="Name of another value"
        placeholder="Another value, as timeouts.default"
        spellCheck={false}
        required
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <button
        type="submit"
        data-effect="field"
        aria-disabled={isOff || undefined}
        title={props.reason}
      >
        Set it
      </button>
    </form>
  );
}
