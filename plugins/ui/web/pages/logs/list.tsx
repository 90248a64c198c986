import {
  memo,
  useEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Words } from "../../parts/text.tsx";
import { formatJson, formatStamp, toText } from "../../kit/words.ts";
import type { Line } from "./line.ts";

/** Nearer to the end than this is at the end. */
const END_PX = 24;

/** Lines below each other, the newest last; the end stays in sight for as long as one is there. */
export function LineList(props: {
  readonly lines: readonly Line[];
  readonly isFollowing: boolean;
  readonly onFollow: (isFollowing: boolean) => void;
}): ReactNode {
  const { lines, isFollowing, onFollow } = props;
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState<string>();
  const toggle = useToggle(setOpen, setCurrent);
  useEffect(() => {
    if (open.size > 0) onFollow(false);
  }, [open, onFollow]);
  useEnd(box, isFollowing, lines);
  // One line is on the way of the Tab key; the arrows lead to the others.
  const stop = lines.some(({ key }) => key === current) ? current : lines.at(-1)?.key;
  return (
    <div
      className="log scroll"
      ref={box}
      role="region"
      aria-label="Log lines"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        const isAtEnd = scrollHeight - scrollTop - clientHeight < END_PX;
        // A line that is being read must not move away.
        if (isAtEnd !== isFollowing && !(isAtEnd && open.size > 0)) onFollow(isAtEnd);
      }}
      onKeyDown={moveFocus}
    >
      <table>
        <thead>
          <tr>
            <th>Time</th>
            <th>Level</th>
            <th>What</th>
            <th>Server</th>
            <th>Tool</th>
            <th>Who</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Row
              key={line.key}
              line={line}
              isOpen={open.has(line.key)}
              isStop={line.key === stop}
              onToggle={toggle}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

type SetKeys = (change: (before: ReadonlySet<string>) => ReadonlySet<string>) => void;

/** Opens a line, or folds it. It stays the same function, so that only that line is drawn again. */
function useToggle(setOpen: SetKeys, setCurrent: (key: string) => void): (key: string) => void {
  const toggle = useRef((key: string): void => {
    setCurrent(key);
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  });
  return toggle.current;
}

/** Keeps the end in sight. */
function useEnd(
  box: RefObject<HTMLDivElement | null>,
  isFollowing: boolean,
  lines: readonly Line[],
): void {
  useEffect(() => {
    if (isFollowing) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [box, isFollowing, lines]);
}

/** Leads from line to line by the arrows. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const steps: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1 };
  const step = steps[event.key];
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>("button[aria-expanded]")];
  const at = all.indexOf(document.activeElement as HTMLElement);
  if (step === undefined || at < 0) return;
  event.preventDefault();
  const next = all[at + step];
  if (!next) return;
  all[at]!.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

const Row = memo(function Row(props: {
  readonly line: Line;
  readonly isOpen: boolean;
  readonly isStop: boolean;
  readonly onToggle: (key: string) => void;
}): ReactNode {
  const { line, isOpen, isStop, onToggle } = props;
  const { key, at, level, end } = line;
  return (
    <>
      <tr
        className={`line ${toneOf(level)}`}
        onClick={() => {
          // Text that somebody selects is to be copied.
          if (document.getSelection()?.isCollapsed !== false) onToggle(key);
        }}
      >
        <td className="when">
          <button
            type="button"
            className="fold"
            data-effect="fold"
            aria-expanded={isOpen}
            aria-label="Details"
            tabIndex={isStop ? 0 : -1}
          />
          <time dateTime={at} title={at}>
            {formatStamp(at)}
          </time>
        </td>
        <td>
          <Badge tone={toneOf(level)}>{level}</Badge>
        </td>
        <td className="what">
          <What line={line} end={end} />
        </td>
        <Cell label="Server">{line.server}</Cell>
        <Cell label="Tool">{line.tool}</Cell>
        <Cell label="Who">{line.who}</Cell>
      </tr>
      {isOpen && <Fields line={line} />}
    </>
  );
});

function What({ line, end }: { readonly line: Line; readonly end: Line["end"] }): ReactNode {
  return (
    <div>
      {line.plugin !== "" && (
        <span className="faint">
          <Words>{`${line.plugin}: `}</Words>
        </span>
      )}
      <Words>{line.what}</Words> {end && <Badge tone={end.tone}>{end.word}</Badge>}{" "}
      <span className="faint">
        <Words>{end ? end.reason : line.why}</Words>
      </span>
    </div>
  );
}

function Cell(props: { readonly label: string; readonly children: string }): ReactNode {
  return (
    <td data-label={props.children === "" ? undefined : props.label}>
      {props.children !== "" && <Words>{props.children}</Words>}
    </td>
  );
}

/** The whole line. */
function Fields({ line }: { readonly line: Line }): ReactNode {
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    row.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <tr className="details" ref={row}>
      <td colSpan={6}>
        <dl>
          {Object.entries(line.fields).map(([name, value]) => (
            <div key={name}>
              <dt>
                <Words>{name}</Words>
              </dt>
              <dd>
                <Words>{textOf(value)}</Words>
              </dd>
            </div>
          ))}
        </dl>
        <Copy text={formatJson(line.fields)}>Copy line</Copy>
      </td>
    </tr>
  );
}

/** A stack is read as lines and not as JSON. */
function textOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return toText(value);
  const { stack } = value as { stack?: unknown };
  return typeof stack === "string" ? stack : formatJson(value);
}

function toneOf(level: string): Tone {
  if (level === "error" || level === "fatal") return "error";
  if (level === "warn") return "degraded";
  return level === "info" ? "ok" : "off";
}
