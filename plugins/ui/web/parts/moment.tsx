import { useEffect, useState, type ReactNode } from "react";
import { formatSpan, formatTime } from "../kit/words.ts";

/** A moment as the clock of this machine shows it. */
export function Moment(props: { readonly at: string | null | undefined }): ReactNode {
  if (props.at == null) return <span className="faint">–</span>;
  return (
    <time dateTime={props.at} title={props.at}>
      {formatTime(props.at)}
    </time>
  );
}

/** The time of now, again each second while a part is on the screen. */
export function useNow(isTicking = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isTicking) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}

/** How long until a moment, counted down. */
export function Countdown(props: { readonly to: string }): ReactNode {
  const rest = Date.parse(props.to) - useNow();
  return <>{rest > 0 ? `in ${formatSpan(Math.ceil(rest / 1_000) * 1_000)}` : "now"}</>;
}
