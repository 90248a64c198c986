import type { ConfigOriginView } from "propylon/plugins/admin";
import type { ReactNode } from "react";
import { rightTo, useAbout } from "../../about.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Choice, Search } from "../../parts/search.tsx";
import { Table, type Column } from "../../parts/table.tsx";
import { Words } from "../../parts/text.tsx";
import { useAsk } from "../../query.ts";
import type { Route } from "../../request.ts";
import { useUrlState } from "../../kit/url-state.ts";
import { AddValue } from "./add-value.tsx";
import { Changes } from "./changes.tsx";
import { APPLY, isSame, useDraft, type Path } from "./draft.ts";

/** Where each value comes from. */
export const ORIGIN: Route = "GET /_meta/config/origin";

type ConfigValue = ConfigOriginView["values"][number];

/** Every value in force, where it comes from, and what is to be another. */
export function ConfigValues(): ReactNode {
  const query = useAsk<ConfigOriginView>(ORIGIN);
  const [search, setSearch] = useUrlState("q");
  const [from, setFrom] = useUrlState("from");
  const drafting = useDraft();
  const about = useAbout();
  return (
    <>
      <div className="row tools">
        <Search label="Search values" value={search} onChange={setSearch} />
        <Choice
          label="Origin"
          value={from}
          onChange={setFrom}
          options={[
            ["", "All sources"],
            ["file", "the file"],
            ["default", "defaults"],
            ["plugin", "plugins"],
          ]}
        />
      </div>
      <Loaded query={query} what="The values">
        {({ values, why, version }) => {
          const reason = rightTo(about, APPLY).reason;
          // What nobody may change here, whatever their role, has no control.
          const note = why ? [why.message, why.hint].filter(Boolean).join(" ") : reason;
          const valueAt = (path: Path): unknown =>
            values.find((value) => isSame(value.path, path))?.value;
          const begin = (path: Path): void => drafting.begin(version, path, valueAt(path));
          return (
            <>
              {note !== undefined && (
                <p className="note">
                  <Words>{note}</Words>
                </p>
              )}
              {drafting.draft && (
                <Changes
                  drafting={drafting}
                  draft={drafting.draft}
                  version={version}
                  valueAt={valueAt}
                />
              )}
              {!why && <AddValue reason={reason} onAdd={begin} />}
              <Values
                values={values.filter((value) => fits(value, search, from))}
                reason={reason}
                onChange={why ? undefined : begin}
              />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function fits(value: ConfigValue, search: string, from: string): boolean {
  if (from !== "" && value.from !== from) return false;
  const text = `${nameOf(value)} ${JSON.stringify(value.value)}`.toLowerCase();
  return text.includes(search.trim().toLowerCase());
}

function Values(props: {
  readonly values: readonly ConfigValue[];
  /** Why nothing can be changed. */
  readonly reason: string | undefined;
  /** Absent: nobody may change anything here. */
  readonly onChange: ((path: Path) => void) | undefined;
}): ReactNode {
  const { values, reason, onChange } = props;
  const columns: readonly Column<ConfigValue>[] = [
    ["Setting", (value) => <Words>{nameOf(value)}</Words>],
    [
      "Value",
      ({ value }) => (
        <code>
          <Words>{JSON.stringify(value)}</Words>
        </code>
      ),
    ],
    ["Source", (value) => <Words>{originOf(value)}</Words>],
  ];
  const change: Column<ConfigValue> = [
    "",
    (value) => (
      <ChangeButton name={nameOf(value)} reason={reason} onClick={() => onChange?.(value.path)} />
    ),
  ];
  return (
    <Table
      label="Values in force"
      rows={values}
      keyOf={({ path }) => JSON.stringify(path)}
      columns={onChange ? [...columns, change] : columns}
      empty="No matching settings."
    />
  );
}

function ChangeButton(props: {
  readonly name: string;
  readonly reason: string | undefined;
  readonly onClick: () => void;
}): ReactNode {
  const { name, reason, onClick } = props;
  return (
    <button
      type="button"
      className="quiet"
      data-effect="field"
      aria-label={`Change ${name}`}
      aria-disabled={reason !== undefined || undefined}
      title={reason}
      onClick={() => reason === undefined && onClick()}
    >
      Change
    </button>
  );
}

function nameOf({ path }: ConfigValue): string {
  return path.join(".");
}

function originOf({ from, place }: ConfigValue): string {
  if (place !== null) return `${place.file}:${place.line}:${place.column}`;
  return { file: "the file", default: "default", plugin: "a plugin" }[from];
}
