import type { ReactNode } from "react";
import { valueAt } from "../pointer.ts";
import { Snippet } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";

/** A secret that is shown until it is closed, and nowhere else: it is in no address, no store and no list. */
export function Secret(props: { readonly text: string; readonly onClose: () => void }): ReactNode {
  return (
    <Dialog title="Secret" onClose={props.onClose}>
      <p className="note">It is shown this once. Copy it now: nobody can see it again.</p>
      <Snippet text={props.text} label="Secret" />
      <footer className="row">
        <button type="button" className="primary" data-effect="closes" onClick={props.onClose}>
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
