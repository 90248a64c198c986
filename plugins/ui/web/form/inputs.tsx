import type { UseQueryResult } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { isNumber, parseExact, writeJson } from "../kit/json.ts";
import { toLabel, visible } from "../kit/words.ts";
import type { RequestFailure } from "../request.ts";
import type { FormField } from "./schema.ts";

/** A part of a form and what is filled in there; `undefined`: nothing. */
export interface FieldProps<F extends FormField = FormField> {
  readonly field: F;
  readonly value: unknown;
  readonly isRequired: boolean;
  readonly label: string;
  readonly onChange: (value: unknown) => void;
  /** Where its choices come from. */
  readonly answer?: UseQueryResult<unknown, RequestFailure> | undefined;
}

/** A field of one kind. */
export type Of<K extends FormField["kind"]> = Extract<FormField, { kind: K }>;

type InputProps<F extends FormField = FormField> = FieldProps<F> & {
  readonly id: string;
  readonly describedBy?: string;
};

/** What one value is typed into. */
export function Input(props: InputProps): ReactNode {
  const { field } = props;
  if (field.kind === "text") return <TextInput {...props} field={field} />;
  if (field.kind === "number") return <NumberInput {...props} field={field} />;
  if (field.kind === "choice") return <ChoiceInput {...props} field={field} />;
  return <JsonInput {...props} />;
}

function TextInput({
  id,
  field,
  value,
  isRequired,
  onChange,
  describedBy,
}: InputProps<Of<"text">>): ReactNode {
  const common = {
    id,
    "data-effect": "field",
    value: typeof value === "string" ? value : "",
    required: isRequired && (field.minLength ?? 0) > 0,
    minLength: field.minLength,
    maxLength: field.maxLength,
    "aria-describedby": describedBy,
    onChange: ({ target }: { target: { value: string } }) =>
      onChange(target.value === "" ? undefined : target.value),
  };
  if (field.input === "multiline")
    return <textarea {...common} rows={rowsOf(common.value)} spellCheck={false} />;
  return <input {...common} type={field.input} autoComplete="off" />;
}

function rowsOf(text: string): number {
  return Math.min(12, Math.max(1, text.split("\n").length));
}

/** What is not a number yet, as `-`, stays in the field and is not sent. */
function NumberInput({
  id,
  field,
  value,
  isRequired,
  onChange,
  describedBy,
}: InputProps<Of<"number">>): ReactNode {
  return (
    <input
      id={id}
      type="number"
      data-effect="field"
      step={field.isInteger ? 1 : "any"}
      min={field.minimum}
      max={field.maximum}
      required={isRequired && !field.nullable}
      defaultValue={isNumber(value) ? String(value) : ""}
      aria-describedby={describedBy}
      onChange={({ target }) => onChange(numberOf(target.value))}
    />
  );
}

/** A field has numbers as HTML writes them, which JSON does not know all: `007`, `.5`. */
function numberOf(text: string): unknown {
  const json = text.replace(/^(-?)0+(?=\d)/, "$1").replace(/^-?(?=\.)/, "$&0");
  return json === "" ? undefined : parseExact(json);
}

function ChoiceInput({
  id,
  field,
  value,
  isRequired,
  onChange,
  describedBy,
}: InputProps<Of<"choice">>): ReactNode {
  const index = field.values.findIndex((one) => writeJson(one) === writeJson(value));
  return (
    <select
      id={id}
      data-effect="field"
      required={isRequired && !field.nullable}
      value={index < 0 ? "" : String(index)}
      aria-describedby={describedBy}
      onChange={({ target }) =>
        onChange(target.value === "" ? undefined : field.values[Number(target.value)])
      }
    >
      <option value="">not set</option>
      {field.values.map((one, at) => (
        <option key={writeJson(one)} value={at}>
          {visible(toLabel(one))}
        </option>
      ))}
    </select>
  );
}

/** Anything, as JSON; the browser says when it is invalid. */
function JsonInput({ id, value, isRequired, onChange, describedBy }: InputProps): ReactNode {
  const [text, setText] = useState(value === undefined ? "" : writeJson(value, 2));
  return (
    <textarea
      id={id}
      data-effect="field"
      rows={rowsOf(text) + 1}
      spellCheck={false}
      className="code"
      placeholder="JSON"
      required={isRequired}
      value={text}
      aria-describedby={describedBy}
      onChange={({ target }) => {
        setText(target.value);
        const parsed = readJson(target.value);
        target.setCustomValidity(parsed.error ?? "");
        if (parsed.error === undefined) onChange(parsed.value);
      }}
    />
  );
}

/** Reads JSON as it is typed; nothing is not a value. */
export function readJson(text: string): { readonly value?: unknown; readonly error?: string } {
  if (text.trim() === "") return { value: undefined };
  try {
    return { value: parseExact(text) };
  } catch (thrown) {
    return { error: `This is not valid JSON: ${(thrown as Error).message}` };
  }
}
