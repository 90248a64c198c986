import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { RequestFailure } from "../request.ts";
import { Trouble } from "./trouble.tsx";

/** An answer once it is there. What was shown before stays on the screen while the gateway does not answer, and it is said. */
export function Loaded<T>(props: {
  readonly query: UseQueryResult<T, RequestFailure>;
  readonly what: string;
  readonly children: (data: T) => ReactNode;
}): ReactNode {
  const { data, error, refetch } = props.query;
  return (
    <>
      {error && <Trouble error={error} what={props.what} onRetry={() => void refetch()} />}
      {data === undefined
        ? !error && (
            <p className="faint" aria-busy="true">
              Loading …
            </p>
          )
        : props.children(data)}
    </>
  );
}
