import { useEffect, useRef, useState } from "react";
import { RequestFailure } from "../../request.ts";
import { callTool, type Question, type Report, type ToolResult } from "./call.ts";

/** What a call came to. */
export type Run =
  | {
      readonly state: "running";
      readonly began: number;
      readonly report: Report | undefined;
      /** What waits for an answer. */
      readonly questions: readonly Question[];
    }
  | { readonly state: "answered"; readonly ms: number; readonly result: ToolResult }
  | { readonly state: "failed"; readonly ms: number; readonly error: RequestFailure }
  | { readonly state: "cancelled"; readonly ms: number };

type Running = Extract<Run, { state: "running" }>;

/** One call at a time; leaving the page cancels it. */
export function useRun(): {
  readonly run: Run | undefined;
  readonly start: (body: Parameters<typeof callTool>[0]) => void;
  readonly cancel: () => void;
} {
  const [run, setRun] = useState<Run>();
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const start = (body: Parameters<typeof callTool>[0]): void => {
    const control = (abort.current = new AbortController());
    const began = performance.now();
    const ms = (): number => performance.now() - began;
    setRun({ state: "running", began: Date.now(), report: undefined, questions: [] });
    const show = (next: Run): void => {
      if (abort.current === control) setRun(next);
    };
    const change = (next: (now: Running) => Partial<Running>): void =>
      setRun((now) =>
        now?.state === "running" && abort.current === control ? { ...now, ...next(now) } : now,
      );
    void callTool(
      body,
      {
        onReport: (report) => change(() => ({ report })),
        onQuestion: (one) => change(({ questions }) => ({ questions: [...questions, one] })),
        onClosed: (id) =>
          change(({ questions }) => ({ questions: questions.filter((one) => one.id !== id) })),
      },
      control.signal,
    ).then(
      (result) => show({ state: "answered", ms: ms(), result }),
      (error: unknown) =>
        show(
          control.signal.aborted
            ? { state: "cancelled", ms: ms() }
            : { state: "failed", ms: ms(), error: asFailure(error) },
        ),
    );
  };
  return { run, start, cancel: () => abort.current?.abort() };
}

/** What broke in the page itself, such as a result that is too large for it. */
function asFailure(error: unknown): RequestFailure {
  if (error instanceof RequestFailure) return error;
  return new RequestFailure(error instanceof Error ? error.message : String(error), {
    code: "page",
    status: 0,
    hint: "Call the tool from a shell: Copy as curl.",
    requestId: undefined,
    data: undefined,
  });
}
