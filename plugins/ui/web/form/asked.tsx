import { useState, type ReactNode } from "react";
import { useRight } from "../about.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Words } from "../parts/text.tsx";
import { Asking, type AskingProps } from "./asking.tsx";

/** A button that asks for something first, in a dialog, and then makes one request. */
export function Asked(
  props: AskingProps & {
    /** Names the button, the dialog and what is done. */
    readonly label: string;
    /** Says more than the label, for rows of equal buttons. */
    readonly name?: string | undefined;
    /** Default: quiet. */
    readonly tone?: "primary" | "danger" | undefined;
  },
): ReactNode {
  const { label, name, tone = "quiet", onDone, ...asking } = props;
  const [isOpen, setOpen] = useState(false);
  const right = useRight(props.route);
  if (!right.isThere) return null;
  const isOff = right.reason !== undefined;
  return (
    <>
      <button
        type="button"
        className={tone}
        data-effect="dialog"
        aria-disabled={isOff || undefined}
        aria-label={name}
        title={right.reason}
        onClick={() => !isOff && setOpen(true)}
      >
        <Words>{label}</Words>
      </button>
      {isOpen && (
        <Dialog title={name ?? label} onClose={() => setOpen(false)}>
          <Asking
            {...asking}
            onDone={(answer) => {
              setOpen(false);
              onDone?.(answer);
            }}
          />
        </Dialog>
      )}
    </>
  );
}
