import type { ReactNode } from "react";
import type { RequestFailure } from "../request.ts";
import { Copy } from "./copy.tsx";
import { formatJson } from "../kit/words.ts";
import { Words } from "./text.tsx";

/** What went wrong: a sentence, the next step, the code, the id of the request. */
export function Trouble(props: {
  readonly error: RequestFailure;
  /** What was tried, as in `The list of servers`. */
  readonly what?: string;
  readonly onRetry?: () => void;
}): ReactNode {
  const { error, what, onRetry } = props;
  const details = {
    code: error.code,
    status: error.status,
    message: error.message,
    hint: error.hint,
    requestId: error.requestId,
    data: error.data,
    place: error.place,
    at: new Date().toISOString(),
  };
  return (
    <div className="trouble" role="alert">
      <p>
        {what !== undefined && <strong>{what}: </strong>}
        <Words>{error.message}</Words>
      </p>
      {error.hint !== undefined && (
        <p>
          <Words>{error.hint}</Words>
        </p>
      )}
      <p className="row faint">
        <code>{error.code}</code>
        {error.place !== undefined && <Words>{error.place}</Words>}
        {error.requestId !== undefined && <span>Request {error.requestId}</span>}
        <Copy text={formatJson(details)}>Copy details</Copy>
        {onRetry && (
          <button type="button" className="quiet" onClick={onRetry}>
            Try again
          </button>
        )}
      </p>
    </div>
  );
}
