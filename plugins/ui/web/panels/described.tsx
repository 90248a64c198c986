import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import { useRight } from "../about.tsx";
import { Members } from "../form/fields.tsx";
import { initialOf, toForm, toValue } from "../form/schema.ts";
import { Act, Confirm } from "../parts/act.tsx";
import { Badge, type Tone } from "../parts/badge.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Moment } from "../parts/moment.tsx";
import { useNotify } from "../parts/notices.tsx";
import { Empty } from "../parts/page.tsx";
import { Passage, Words } from "../parts/text.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { valueAt } from "../pointer.ts";
import { useAsk } from "../query.ts";
import { ask, type Params, type RequestFailure, type Route } from "../request.ts";
import { formatNumber, formatSize, formatSpan, toText } from "../words.ts";
import {
  splitRoute,
  type Form,
  type PanelAction,
  type PanelColumn,
  type PanelView,
} from "./view.ts";

/** Parameters of routes that the place of a panel gives. */
type Context = Readonly<Record<string, string>>;

/** Rows of a table; a route pages by itself, or it is too long for a panel. */
const MAX_ROWS = 1_000;

/** A panel that its plugin described: no code of the plugin runs in the page. */
export function Described(props: {
  readonly view: PanelView;
  /** Names its parts: a page has several panels. */
  readonly title: string;
  readonly context: Context;
}): ReactNode {
  const { view, title, context } = props;
  if (view.table) return <TableView view={view.table} title={title} context={context} />;
  if (view.fields) return <FieldsView view={view.fields} context={context} />;
  if (view.metric) return <MetricView view={view.metric} context={context} />;
  if (view.log) return <LogView view={view.log} title={title} context={context} />;
  if (view.form) return <FormView view={view.form} context={context} />;
  return null;
}

function useFrom(
  from: Route,
  live: string | undefined,
  context: Context,
): ReturnType<typeof useAsk<unknown>> {
  const { route, query } = splitRoute(from);
  return useAsk<unknown>(route, { ...context, ...query }, { live });
}

function TableView(props: {
  readonly view: NonNullable<PanelView["table"]>;
  readonly title: string;
  readonly context: Context;
}): ReactNode {
  const { view, title, context } = props;
  const query = useFrom(view.from, view.live, context);
  return (
    <Loaded query={query} what="The list">
      {(data) => {
        const rows = toRows(valueAt(data, view.rows));
        if (rows.length === 0) return <Empty>{view.empty ?? "There is nothing yet."}</Empty>;
        return (
          <div className="scroll" tabIndex={0} role="region" aria-label={title}>
            <table>
              <thead>
                <tr>
                  {view.columns.map(({ label, as }) => (
                    <th key={label} className={isNumber(as) ? "number" : ""}>
                      <Words>{label}</Words>
                    </th>
                  ))}
                  {view.actions && (
                    <th>
                      <span className="hidden">What can be done</span>
                    </th>
                  )}
                </tr>
              </thead>
              <tbody>
                {rows.slice(0, MAX_ROWS).map((row, index) => (
                  <tr key={keyOf(row, index)}>
                    {view.columns.map(({ label, value, as }) => (
                      <td key={label} className={isNumber(as) ? "number" : ""}>
                        <Cell value={valueAt(row, value)} as={as} />
                      </td>
                    ))}
                    {view.actions && (
                      <td>
                        <div className="row end">
                          <Actions actions={view.actions} row={row} context={context} />
                        </div>
                      </td>
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
            {rows.length > MAX_ROWS && <p className="faint">{rows.length - MAX_ROWS} more.</p>}
          </div>
        );
      }}
    </Loaded>
  );
}

/** A list, or a map whose keys are put into its rows as `_key`. */
function toRows(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([key, row]) =>
    typeof row === "object" && row !== null
      ? { _key: key, ...row }
      : { _key: key, value: row as unknown },
  );
}

function keyOf(row: unknown, index: number): string {
  const id = valueAt(row, "/id") ?? valueAt(row, "/_key") ?? valueAt(row, "/name");
  return typeof id === "string" ? id : String(index);
}

function isNumber(as: Form | undefined): boolean {
  return as === "number" || as === "duration" || as === "bytes";
}

function FieldsView(props: {
  readonly view: NonNullable<PanelView["fields"]>;
  readonly context: Context;
}): ReactNode {
  const { view, context } = props;
  const query = useFrom(view.from, view.live, context);
  return (
    <Loaded query={query} what="The values">
      {(data) => (
        <>
          <dl className="facts">
            {view.fields.map(({ label, value, as }: PanelColumn) => (
              <div key={label}>
                <dt>
                  <Words>{label}</Words>
                </dt>
                <dd>
                  <Cell value={valueAt(data, value)} as={as} />
                </dd>
              </div>
            ))}
          </dl>
          {view.actions && (
            <div className="row">
              <Actions actions={view.actions} row={data} context={context} />
            </div>
          )}
        </>
      )}
    </Loaded>
  );
}

function MetricView(props: {
  readonly view: NonNullable<PanelView["metric"]>;
  readonly context: Context;
}): ReactNode {
  const { view, context } = props;
  const query = useFrom(view.from, view.live, context);
  return (
    <Loaded query={query} what="The value">
      {(data) => (
        <p className="metric">
          <span className="figure">
            <Cell value={valueAt(data, view.value)} as="number" />
          </span>{" "}
          <span className="faint">
            <Words>{view.unit}</Words>
          </span>
        </p>
      )}
    </Loaded>
  );
}

function LogView(props: {
  readonly view: NonNullable<PanelView["log"]>;
  readonly title: string;
  readonly context: Context;
}): ReactNode {
  const { view, title, context } = props;
  const query = useFrom(view.from, view.live, context);
  return (
    <Loaded query={query} what="The lines">
      {(data) => {
        const lines = valueAt(data, view.lines);
        const text = Array.isArray(lines)
          ? lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n")
          : toText(lines);
        return text === "" ? (
          <Empty>There is no line yet.</Empty>
        ) : (
          <Passage text={text} label={title} />
        );
      }}
    </Loaded>
  );
}

const TONES: Readonly<Record<string, Tone>> = {
  ok: "ok",
  ready: "ok",
  healthy: "ok",
  active: "ok",
  closed: "ok",
  completed: "ok",
  running: "busy",
  connecting: "busy",
  pending: "busy",
  starting: "busy",
  degraded: "degraded",
  slow: "degraded",
  stale: "degraded",
  "half-open": "degraded",
  warning: "degraded",
  error: "error",
  failed: "error",
  open: "error",
  refused: "error",
};

/** A value as its column says; text of anybody stays text. */
function Cell(props: { readonly value: unknown; readonly as: Form | undefined }): ReactNode {
  const { value, as = "text" } = props;
  if (value === undefined || value === null || value === "")
    return <span className="faint">–</span>;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (as === "number" && typeof value === "number") return formatNumber(value);
  if (as === "duration" && typeof value === "number") return formatSpan(value);
  if (as === "bytes" && typeof value === "number") return formatSize(value);
  if (as === "time") return <Moment at={text} />;
  if (as === "state")
    return (
      <Badge tone={TONES[text.toLowerCase()] ?? "off"}>
        <Words>{text}</Words>
      </Badge>
    );
  if (as === "code")
    return (
      <code>
        <Words>{text}</Words>
      </code>
    );
  if (as === "list" && Array.isArray(value))
    return (
      <Words>
        {value.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join(", ")}
      </Words>
    );
  if (as === "boolean") return value === true ? "yes" : "no";
  return <Words>{text}</Words>;
}

function Actions(props: {
  readonly actions: readonly PanelAction[];
  readonly row: unknown;
  readonly context: Context;
}): ReactNode {
  return props.actions.map((action) => {
    const params = paramsOf(action.params, props.row, props.context);
    if (action.input !== undefined)
      return <AskedAction key={action.label} action={action} params={params} />;
    return (
      <Act
        key={action.label}
        route={action.route}
        params={params}
        body={action.body}
        what={action.label}
        tone="quiet"
        {...(action.confirm !== undefined && { confirm: <Words>{action.confirm}</Words> })}
      >
        <Words>{action.label}</Words>
      </Act>
    );
  });
}

function paramsOf(
  pointers: Readonly<Record<string, string>> = {},
  row: unknown,
  context: Context,
): Params {
  const entries = Object.entries(pointers).map(([name, pointer]) => {
    const value = valueAt(row, pointer);
    return [name, typeof value === "number" ? value : toText(value)] as const;
  });
  return { ...context, ...Object.fromEntries(entries) };
}

/** An action that asks for something first. */
function AskedAction(props: { readonly action: PanelAction; readonly params: Params }): ReactNode {
  const { action, params } = props;
  const [isOpen, setOpen] = useState(false);
  const right = useRight(action.route);
  if (!right.isThere) return null;
  return (
    <>
      <button
        type="button"
        className="quiet"
        data-effect="dialog"
        aria-disabled={right.reason !== undefined || undefined}
        title={right.reason}
        onClick={() => right.reason === undefined && setOpen(true)}
      >
        <Words>{action.label}</Words>
      </button>
      {isOpen && (
        <Dialog title={action.label} onClose={() => setOpen(false)}>
          <Asking
            route={action.route}
            params={params}
            input={action.input}
            body={action.body}
            submit={action.label}
            confirm={action.confirm}
            onDone={() => setOpen(false)}
          />
        </Dialog>
      )}
    </>
  );
}

function FormView(props: {
  readonly view: NonNullable<PanelView["form"]>;
  readonly context: Context;
}): ReactNode {
  const { view, context } = props;
  return (
    <Asking
      route={view.route}
      params={{ ...context }}
      input={view.input}
      body={undefined}
      submit={view.submit}
      confirm={view.confirm}
      onDone={() => {}}
    />
  );
}

/** A form from a JSON Schema that makes one request. */
function Asking(props: {
  readonly route: Route;
  readonly params: Params;
  readonly input: unknown;
  readonly body: unknown;
  readonly submit: string;
  readonly confirm: string | undefined;
  readonly onDone: () => void;
}): ReactNode {
  const { route, params, submit } = props;
  const form = toForm(props.input);
  const [filled, setFilled] = useState<unknown>(() => initialOf(form));
  const [isAsking, setAsking] = useState(false);
  const right = useRight(route);
  const client = useQueryClient();
  const notify = useNotify();
  const { mutate, error, isPending } = useMutation<unknown, RequestFailure>({
    mutationFn: () => {
      const { route: bare, query } = splitRoute(route);
      const value = toValue(form, filled, true);
      return ask(bare, {
        params: { ...params, ...query },
        body: { ...(props.body as object), ...(value as object) },
      });
    },
    onSuccess: () => {
      notify(`${submit}: done.`);
      setFilled(initialOf(form));
      props.onDone();
    },
    onSettled: () => client.invalidateQueries(),
  });
  const isOff = right.reason !== undefined;
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    if (isOff || isPending) return;
    if (props.confirm === undefined) mutate();
    else setAsking(true);
  };
  if (form.kind !== "group")
    return <p className="note">There is no form for what it takes; ask {route} by hand.</p>;
  return (
    <form className="fields" onSubmit={onSubmit}>
      <Members members={form.members} value={filled} onChange={setFilled} />
      {right.reason !== undefined && <p className="note">{right.reason}</p>}
      {error && <Trouble error={error} what={submit} />}
      <footer className="row">
        <button
          type="submit"
          className="primary"
          data-route={route}
          aria-disabled={isOff || undefined}
          aria-busy={isPending || undefined}
        >
          <Words>{submit}</Words>
        </button>
      </footer>
      {isAsking && (
        <Confirm what={submit} onClose={() => setAsking(false)} onConfirm={() => mutate()}>
          <Words>{props.confirm}</Words>
        </Confirm>
      )}
    </form>
  );
}
