import { useEffect, useState, type ReactNode } from "react";

/** A button that copies a text, and says that it did. */
export function Copy(props: { readonly text: string; readonly children: ReactNode }): ReactNode {
  const [state, setState] = useState<"" | "Copied" | "Not copied: select it by hand">("");
  useEffect(() => {
    if (state === "") return undefined;
    const timer = setTimeout(() => setState(""), 2_000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (): void => {
    // Pages over plain HTTP from another machine have no clipboard.
    const write = navigator.clipboard?.writeText(props.text) ?? Promise.reject(new Error());
    void write.then(
      () => setState("Copied"),
      () => setState("Not copied: select it by hand"),
    );
  };
  return (
    <button type="button" className="quiet" data-effect="copy" onClick={copy}>
      <span aria-live="polite">{state || props.children}</span>
    </button>
  );
}

/** Text for a shell or a file, with a button that copies it. */
export function Snippet(props: { readonly text: string; readonly label: string }): ReactNode {
  return (
    <div className="snippet">
      <pre tabIndex={0} role="region" aria-label={props.label}>
        {props.text}
      </pre>
      <Copy text={props.text}>Copy</Copy>
    </div>
  );
}
