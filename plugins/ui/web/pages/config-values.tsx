import type { ReactNode } from "react";
import { Loaded } from "../parts/loaded.tsx";
import { Empty } from "../parts/page.tsx";
import { Choice, Search } from "../parts/search.tsx";
import { Words } from "../parts/text.tsx";
import { useAsk } from "../query.ts";
import type { Route } from "../request.ts";
import { useUrlState } from "../url-state.ts";

/** Where each value comes from. */
export const ORIGIN: Route = "GET /_meta/config/origin";

interface ConfigValue {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
  readonly from: "file" | "default" | "plugin";
  readonly place: { readonly file: string; readonly line: number; readonly column: number } | null;
}

interface Origin {
  readonly why: { readonly message: string; readonly hint: string | null } | null;
  readonly values: readonly ConfigValue[];
}

/** What a page can show without becoming slow; the search finds the others. */
const MAX_ROWS = 1_000;

/** Every value in force, and where it comes from. */
export function ConfigValues(): ReactNode {
  const query = useAsk<Origin>(ORIGIN);
  const [search, setSearch] = useUrlState("q");
  const [from, setFrom] = useUrlState("from");
  return (
    <>
      <div className="row tools">
        <Search label="Search values" value={search} onChange={setSearch} />
        <Choice
          label="Origin"
          value={from}
          onChange={setFrom}
          options={[
            ["", "every origin"],
            ["file", "the file"],
            ["default", "defaults"],
            ["plugin", "plugins"],
          ]}
        />
      </div>
      <Loaded query={query} what="The values">
        {({ values, why }) => (
          <>
            {why !== null && (
              <p className="note">
                <Words>{[why.message, why.hint].filter(Boolean).join(" ")}</Words>
              </p>
            )}
            <Values values={values.filter((value) => fits(value, search, from))} />
          </>
        )}
      </Loaded>
    </>
  );
}

function fits(value: ConfigValue, search: string, from: string): boolean {
  if (from !== "" && value.from !== from) return false;
  const text = `${nameOf(value)} ${JSON.stringify(value.value)}`.toLowerCase();
  return text.includes(search.trim().toLowerCase());
}

function Values({ values }: { readonly values: readonly ConfigValue[] }): ReactNode {
  if (values.length === 0) return <Empty>No value fits.</Empty>;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Values in force">
      <table>
        <thead>
          <tr>
            <th>Value</th>
            <th>Is</th>
            <th>From</th>
          </tr>
        </thead>
        <tbody>
          {values.slice(0, MAX_ROWS).map((value) => (
            <tr key={JSON.stringify(value.path)}>
              <td>
                <Words>{nameOf(value)}</Words>
              </td>
              <td>
                <code>
                  <Words>{JSON.stringify(value.value)}</Words>
                </code>
              </td>
              <td>
                <Words>{originOf(value)}</Words>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {values.length > MAX_ROWS && <p className="faint">{values.length - MAX_ROWS} more.</p>}
    </div>
  );
}

function nameOf({ path }: ConfigValue): string {
  return path.join(".");
}

function originOf({ from, place }: ConfigValue): string {
  if (place !== null) return `${place.file}:${place.line}:${place.column}`;
  return { file: "the file", default: "default", plugin: "a plugin" }[from];
}
