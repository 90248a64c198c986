import type { ReactNode } from "react";
import type { ValueForm } from "propylon/panels";
import { OUTCOMES, type CallRow } from "../model.ts";
import { Badge, type Tone } from "../parts/badge.tsx";
import { Moment } from "../parts/moment.tsx";
import { Words } from "../parts/text.tsx";
import { formatNumber, formatSize, formatSpan, toLabel } from "../kit/words.ts";

const TONES: Readonly<Record<string, Tone>> = {
  ready: "ok",
  healthy: "ok",
  active: "ok",
  signing: "ok",
  closed: "ok",
  completed: "ok",
  running: "busy",
  connecting: "busy",
  pending: "busy",
  verifying: "busy",
  starting: "busy",
  degraded: "degraded",
  slow: "degraded",
  stale: "degraded",
  "half-open": "degraded",
  warning: "degraded",
  retried: "degraded",
  error: "error",
  failed: "error",
  dead: "error",
  open: "error",
};

/** How a call ended has the same words and colours as on every other page. */
function stateOf(text: string): { readonly tone: Tone; readonly word: string } {
  if (Object.hasOwn(OUTCOMES, text)) return OUTCOMES[text as CallRow["outcome"]];
  return { tone: TONES[text.toLowerCase()] ?? "off", word: text };
}

/** A value as its column says; text of anybody stays text. */
export function Cell(props: {
  readonly value: unknown;
  readonly as: ValueForm | undefined;
}): ReactNode {
  const { value, as = "text" } = props;
  if (value === undefined || value === null || value === "")
    return <span className="faint">–</span>;
  const text = toLabel(value);
  if (as === "number" && typeof value === "number") return formatNumber(value);
  if (as === "duration" && typeof value === "number") return formatSpan(value);
  if (as === "bytes" && typeof value === "number") return formatSize(value);
  if (as === "time") return <Moment at={text} />;
  if (as === "state") {
    const { tone, word } = stateOf(text);
    return (
      <Badge tone={tone}>
        <Words>{word}</Words>
      </Badge>
    );
  }
  if (as === "code")
    return (
      <code>
        <Words>{text}</Words>
      </code>
    );
  if (as === "list" && Array.isArray(value)) return <Words>{value.map(toLabel).join(", ")}</Words>;
  if (as === "boolean") return value === true ? "yes" : "no";
  return <Words>{text}</Words>;
}
