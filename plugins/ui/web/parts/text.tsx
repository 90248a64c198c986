import { useState, type ReactNode } from "react";
import { visible } from "../kit/words.ts";

/** Characters of a text that are shown at once. */
const MAX_SHOWN = 4_000;

/** Text of somebody else: never markup, with what is hidden in it made visible, and its direction kept to itself. */
export function Words(props: { readonly children: string | null | undefined }): ReactNode {
  return <bdi>{visible((props.children ?? "").slice(0, MAX_SHOWN))}</bdi>;
}

/** A long text of somebody else, as it was written, with a button for what is too long for a page. */
export function Passage(props: { readonly text: string; readonly label: string }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const isLong = props.text.length > MAX_SHOWN;
  const shown = isWhole ? props.text.slice(0, MAX_SHOWN * 250) : props.text.slice(0, MAX_SHOWN);
  return (
    <>
      <pre className="passage" tabIndex={0} role="region" aria-label={props.label}>
        {visible(shown)}
        {isLong && !isWhole ? " …" : ""}
      </pre>
      {isLong && !isWhole && (
        <button type="button" className="quiet" onClick={() => setWhole(true)}>
          Show all {props.text.length.toLocaleString("en")} characters
        </button>
      )}
    </>
  );
}
