import type { ReactNode } from "react";
import { Badge } from "../../parts/badge.tsx";
import { useNow } from "../../parts/moment.tsx";
import { Result } from "../../parts/result.tsx";
import { Words } from "../../parts/text.tsx";
import { Trouble } from "../../parts/trouble.tsx";
import { formatSpan } from "../../kit/words.ts";
import { QuestionForm } from "./question-form.tsx";
import type { Run } from "./run.ts";

/** What a call came to so far. */
export function Outcome({ run }: { readonly run: Run }): ReactNode {
  if (run.state === "running") return <Running run={run} />;
  if (run.state === "cancelled")
    return (
      <p className="row">
        <Badge tone="off">cancelled</Badge> after {formatSpan(run.ms)}
      </p>
    );
  if (run.state === "failed")
    return (
      <>
        <p className="row">
          <Badge tone="error">no result</Badge> after {formatSpan(run.ms)}
        </p>
        <Trouble error={run.error} />
      </>
    );
  return (
    <>
      <p className="row">
        <Badge tone={run.result.isError === true ? "error" : "ok"}>
          {run.result.isError === true ? "tool failed" : "ok"}
        </Badge>
        in {formatSpan(run.ms)}
      </p>
      <Result result={run.result} />
    </>
  );
}

function Running({ run }: { readonly run: Extract<Run, { state: "running" }> }): ReactNode {
  const now = useNow();
  const { report, questions } = run;
  const total = report?.total ?? undefined;
  return (
    <div className="progress">
      <p className="row">
        <Badge tone="busy">running</Badge> {formatSpan(now - run.began)}
        <span className="grow">
          <Words>{report?.message ?? ""}</Words>
        </span>
      </p>
      <progress
        aria-label="Progress of the call"
        {...(report && total !== undefined && total > 0 && { value: report.progress, max: total })}
      />
      {report && (
        <p className="faint">
          {report.progress}
          {total !== undefined && ` of ${total}`}
        </p>
      )}
      {questions.map((question) => (
        <QuestionForm key={question.id} question={question} />
      ))}
    </div>
  );
}
