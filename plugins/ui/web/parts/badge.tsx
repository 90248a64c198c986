import type { ReactNode } from "react";

/** The four states of everything, and one that is on its way to one of them. */
export type Tone = "ok" | "degraded" | "error" | "off" | "busy";

/** A shape for each state: colour alone says nothing to one man in twelve. */
const SHAPES: Readonly<Record<Tone, ReactNode>> = {
  ok: <circle cx="5" cy="5" r="4.2" fill="currentColor" />,
  degraded: <path d="M5 .8 9.6 9H.4Z" fill="currentColor" />,
  error: <path d="M5 0 10 5 5 10 0 5Z" fill="currentColor" />,
  off: <circle cx="5" cy="5" r="3.6" fill="none" stroke="currentColor" strokeWidth="1.4" />,
  busy: (
    <path
      d="M5 1.4A3.6 3.6 0 1 1 1.4 5"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
    />
  ),
};

/** A state as shape, word and colour. */
export function Badge(props: { readonly tone: Tone; readonly children: ReactNode }): ReactNode {
  return (
    <span className={`badge ${props.tone}`}>
      <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
        {SHAPES[props.tone]}
      </svg>
      {props.children}
    </span>
  );
}
