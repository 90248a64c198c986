import { useEffect, useRef, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { valueAt } from "../kit/pointer.ts";
import { Snippet } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";

/** A secret that is shown until it is closed, and nowhere else: it is in no address, no store and no list. */
export function Secret(props: {
  readonly text: string;
  /** What it is. */
  readonly title?: string;
  readonly onClose: () => void;
}): ReactNode {
  const { title = "Secret", onClose } = props;
  const close = useRef(onClose);
  useEffect(() => {
    close.current = onClose;
  });
  useEffect(() => {
    // Browsers keep a page that is left as it is, for the back button.
    const forget = (): void => flushSync(() => close.current());
    addEventListener("pagehide", forget);
    return () => removeEventListener("pagehide", forget);
  }, []);
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="note">It is shown this once. Copy it now: nobody can see it again.</p>
      <Snippet text={props.text} label={title} />
      <footer className="row">
        <button type="button" className="primary" data-effect="closes" onClick={onClose}>
          I have copied it
        </button>
      </footer>
    </Dialog>
  );
}

/** The secret of an answer, where its panel says that there is one. */
export function secretAt(answer: unknown, pointer: string | undefined): string | undefined {
  const found = pointer === undefined ? undefined : valueAt(answer, pointer);
  return typeof found === "string" ? found : undefined;
}
