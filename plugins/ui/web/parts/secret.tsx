import { useEffect, useRef, type ReactNode } from "react";
import { flushSync } from "react-dom";
import type { PanelAction } from "propylon/panels";
import { fillIn, valueAt } from "../kit/pointer.ts";
import { Snippet } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";

/** A secret that is shown until it is closed, and nowhere else: an address, a store or a list never has it. */
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

/** A secret, and what it is. */
export interface NamedSecret {
  readonly text: string;
  readonly title: string;
}

/**
 * The secret of an answer, where its request says that there is one.
 *
 * @param row that the request is made for
 */
export function secretOf(
  answer: unknown,
  { secret, secretTitle = "Secret" }: Pick<PanelAction<unknown>, "secret" | "secretTitle">,
  row?: unknown,
): NamedSecret | undefined {
  const found = secret === undefined ? undefined : valueAt(answer, secret);
  if (typeof found !== "string") return undefined;
  return { text: found, title: fillIn(secretTitle, answer, row) };
}
