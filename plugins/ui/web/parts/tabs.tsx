import type { ReactNode } from "react";
import { Link, useSearchParams } from "wouter";

/** Views of one page, each with its own address. */
export function Tabs(props: {
  readonly tabs: readonly (readonly [id: string, title: string, count?: number])[];
  readonly current: string;
  readonly path: string;
}): ReactNode {
  const [params] = useSearchParams();
  return (
    <nav className="tabs" aria-label="Views">
      {props.tabs.map(([id, title, count], index) => {
        const next = new URLSearchParams(params);
        next.delete("q");
        if (index === 0) next.delete("view");
        else next.set("view", id);
        const query = next.toString();
        return (
          <Link
            key={id}
            href={`${props.path}${query === "" ? "" : `?${query}`}`}
            aria-current={id === props.current ? "page" : undefined}
          >
            {title}
            {count !== undefined && <span className="count">{count}</span>}
          </Link>
        );
      })}
    </nav>
  );
}
