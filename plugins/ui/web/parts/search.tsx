import type { ReactNode } from "react";

/** The search field of a page; `/` leads into it. */
export function Search(props: {
  readonly value: string;
  readonly label: string;
  readonly onChange: (value: string) => void;
}): ReactNode {
  return (
    <input
      type="search"
      data-effect="filter"
      placeholder={props.label}
      aria-label={props.label}
      value={props.value}
      onChange={({ target }) => props.onChange(target.value)}
    />
  );
}

/** A choice of a few values, with one for all of them. */
export function Choice(props: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}): ReactNode {
  return (
    <select
      aria-label={props.label}
      data-effect="filter"
      value={props.value}
      onChange={({ target }) => props.onChange(target.value)}
    >
      {props.options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}
