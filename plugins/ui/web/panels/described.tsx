import type { ReactNode } from "react";
import { FieldsView } from "./fields-view.tsx";
import { FormView } from "./form-view.tsx";
import { LogView } from "./log-view.tsx";
import { MetricView } from "./metric-view.tsx";
import { TableView } from "./table-view.tsx";
import type { Context, View } from "./view.ts";

/** A panel that its plugin described: no code of the plugin runs in the page. */
export function Described(props: {
  readonly view: View;
  /** Names its parts: a page has several panels. */
  readonly title: string;
  readonly context: Context;
  /** Names what is searched for in the address. */
  readonly searchName: string;
}): ReactNode {
  const { view, title, context, searchName } = props;
  if ("table" in view)
    return <TableView view={view.table} title={title} context={context} searchName={searchName} />;
  if ("fields" in view) return <FieldsView view={view.fields} context={context} />;
  if ("metric" in view) return <MetricView view={view.metric} context={context} />;
  if ("log" in view) return <LogView view={view.log} title={title} context={context} />;
  return <FormView view={view.form} context={context} />;
}
