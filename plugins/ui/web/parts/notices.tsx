import { createContext, useCallback, useContext, useState, type ReactNode } from "react";
import { RequestFailure } from "../request.ts";
import { Trouble } from "./trouble.tsx";
import { Words } from "./text.tsx";

interface Notice {
  readonly id: number;
  readonly content: string | RequestFailure;
  readonly what: string | undefined;
}

/** Tells the visitor something: a sentence that goes on its own, or a failure that stays until it was read. */
export type Notify = (content: string | RequestFailure, what?: string) => void;

const Notices = createContext<Notify>(() => {});

/** How long a sentence stays. */
const SHOWN_MS = 5_000;
/** More would cover the page. */
const MAX_NOTICES = 4;

let lastId = 0;

/** Shows what happened in a corner of the page. */
export function NoticesProvider(props: { readonly children: ReactNode }): ReactNode {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const drop = useCallback(
    (id: number) => setNotices((all) => all.filter((one) => one.id !== id)),
    [],
  );
  const notify = useCallback<Notify>(
    (content, what) => {
      const id = ++lastId;
      setNotices((all) => [...all, { id, content, what }].slice(-MAX_NOTICES));
      if (typeof content === "string") setTimeout(() => drop(id), SHOWN_MS);
    },
    [drop],
  );
  return (
    <Notices value={notify}>
      {props.children}
      <div className="notices" role="status" aria-live="polite">
        {notices.map(({ id, content, what }) => (
          <div key={id} className="notice">
            {content instanceof RequestFailure ? (
              <Trouble error={content} {...(what !== undefined && { what })} />
            ) : (
              <Words>{content}</Words>
            )}
            <button type="button" className="quiet" aria-label="Dismiss" onClick={() => drop(id)}>
              ✕
            </button>
          </div>
        ))}
      </div>
    </Notices>
  );
}

/** Tells the visitor something. */
export function useNotify(): Notify {
  return useContext(Notices);
}
