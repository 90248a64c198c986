import { useEffect, type ReactNode } from "react";
import { useAbout } from "../about.tsx";

/** The frame of a page: its title, what can be done with all of it, and its content. */
export function Page(props: {
  readonly title: string;
  /** What stands above the title: the way back. */
  readonly above?: ReactNode;
  readonly badge?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  const { name } = useAbout();
  const { title } = props;
  useEffect(() => {
    document.title = `${title} · ${name}`;
  }, [title, name]);
  return (
    <article className="page">
      <header className="page-head">
        <div>
          {props.above}
          <h1 className="row">
            <bdi>{title}</bdi>
            {props.badge}
          </h1>
        </div>
        {props.actions !== undefined && <div className="row">{props.actions}</div>}
      </header>
      {props.children}
    </article>
  );
}

/** One part of a page, with its own heading. */
export function Section(props: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <section className="section">
      <header className="row between">
        <h2>{props.title}</h2>
        {props.actions !== undefined && <div className="row">{props.actions}</div>}
      </header>
      {props.children}
    </section>
  );
}

/** Where a list would be: the one thing to do next. */
export function Empty({ children }: { readonly children: ReactNode }): ReactNode {
  return <p className="empty">{children}</p>;
}
