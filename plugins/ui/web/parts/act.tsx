import { useState, type ReactNode } from "react";
import { useRight } from "../about.tsx";
import { useChange } from "../query.ts";
import type { Params, Route } from "../request.ts";
import { CopyCurl, type ShownRequest } from "./curl.tsx";
import { Dialog } from "./dialog.tsx";
import { useHits, type HitsRoute } from "./hits.tsx";
import { useNotify } from "./notices.tsx";
import { Words } from "./text.tsx";

/** What a control asks the gateway to do. */
export interface Action {
  readonly route: Route;
  readonly params?: Params | undefined;
  readonly body?: unknown;
  /** What was tried, for the sentence when it fails: `Restart search`. */
  readonly what: string;
  /** Names the object and the effect; asked before the request. */
  readonly confirm?: ReactNode;
  /** Says whom it hits; shown before the request. */
  readonly about?: HitsRoute | undefined;
  /** A sentence for when it worked. */
  readonly done?: string | ((answer: never) => string | undefined) | undefined;
  readonly onDone?: (answer: never) => void;
}

/** One request that changes something, and whether it is under way. What the page shows is what the gateway said afterwards. */
export function useAction(action: Action): { readonly run: () => void; readonly isBusy: boolean } {
  const notify = useNotify();
  const { route, params, body, what, done } = action;
  const { mutate, isPending } = useChange<never>(route, () => ({ params, body }), {
    onError: (error) => notify(error, what),
    onSuccess: (answer) => {
      const said = typeof done === "function" ? done(answer) : done;
      if (said !== undefined) notify(said);
      action.onDone?.(answer);
    },
  });
  return { run: () => mutate(), isBusy: isPending };
}

/** A button that makes one request. Without the right to it it stays visible and says why it does nothing. */
export function Act(
  props: Action & {
    readonly children: ReactNode;
    readonly tone?: "danger" | "primary" | "quiet";
    /** Says more than the label, for rows of equal buttons. */
    readonly label?: string;
  },
): ReactNode {
  const right = useRight(props.route);
  const { run, isBusy } = useAction(props);
  const [isAsking, setAsking] = useState(false);
  if (!right.isThere) return null;
  const isOff = right.reason !== undefined;
  const start = (): void => {
    if (isOff || isBusy) return;
    if (props.confirm === undefined && !props.about) run();
    else setAsking(true);
  };
  return (
    <>
      <button
        type="button"
        className={props.tone ?? ""}
        data-route={props.route}
        aria-disabled={isOff || undefined}
        aria-busy={isBusy || undefined}
        aria-label={props.label}
        title={right.reason}
        onClick={start}
      >
        {props.children}
      </button>
      {isAsking && (
        <Confirm
          what={props.what}
          onClose={() => setAsking(false)}
          onConfirm={run}
          isDanger={props.tone === "danger"}
          request={{ route: props.route, params: props.params, body: props.body }}
          about={props.about}
        >
          {props.confirm}
        </Confirm>
      )}
    </>
  );
}

/** Asks before something that cannot be taken back. */
export function Confirm(props: {
  readonly what: string;
  readonly children?: ReactNode;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly isDanger?: boolean;
  /** What it asks, to be copied. */
  readonly request?: ShownRequest;
  readonly about?: HitsRoute | undefined;
}): ReactNode {
  const { content, isTold } = useHits(props.about, undefined, props.children !== undefined);
  return (
    <Dialog title={`${props.what}?`} onClose={props.onClose}>
      <div>{props.children}</div>
      {content}
      <footer className="row">
        {props.request && <CopyCurl request={props.request} />}
        <button type="button" onClick={props.onClose}>
          Cancel
        </button>
        <button
          type="button"
          className={props.isDanger ? "danger" : "primary"}
          aria-disabled={!isTold || undefined}
          onClick={() => {
            if (!isTold) return;
            props.onClose();
            props.onConfirm();
          }}
        >
          <Words>{props.what}</Words>
        </button>
      </footer>
    </Dialog>
  );
}

/** A switch that shows what the gateway said: while a request runs it is busy, and it moves when the answer is there. */
export function Toggle(props: {
  readonly on: boolean;
  readonly name: string;
  readonly enable: Route;
  readonly disable: Route;
  readonly params: Params;
}): ReactNode {
  const { on, name, params } = props;
  const route = on ? props.disable : props.enable;
  const right = useRight(route);
  const what = `${on ? "Switch off" : "Switch on"} ${name}`;
  const { run, isBusy } = useAction({ route, params, what });
  if (!right.isThere) return null;
  const isOff = right.reason !== undefined;
  return (
    <button
      type="button"
      role="switch"
      className="switch"
      data-route={route}
      aria-checked={on}
      aria-label={name}
      aria-disabled={isOff || undefined}
      aria-busy={isBusy || undefined}
      title={right.reason}
      onClick={() => !isOff && !isBusy && run()}
    >
      <span aria-hidden="true" />
    </button>
  );
}
