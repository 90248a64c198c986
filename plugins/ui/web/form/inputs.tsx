import type { UseQueryResult } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { isNumber, parseExact, writeJson } from "../kit/json.ts";
import { formatSize, toLabel, visible } from "../kit/words.ts";
import type { RequestFailure } from "../request.ts";
import type { FormField } from "./schema.ts";

/** A part of a form and what is filled in there; `undefined`: nothing. */
export interface FieldProps<F extends FormField = FormField> {
  readonly field: F;
  readonly value: unknown;
  readonly isRequired: boolean;
  readonly label: string;
  readonly onChange: (value: unknown) => void;
  /** Where it stands in the whole form: names joined by dots. Default: its label. */
  readonly path?: string | undefined;
  /** Where its choices come from. */
  readonly answer?: UseQueryResult<unknown, RequestFailure> | undefined;
}

/** A field of one kind. */
export type Of<K extends FormField["kind"]> = Extract<FormField, { kind: K }>;

type InputProps<F extends FormField = FormField> = FieldProps<F> & {
  readonly id: string;
  /** What a screen reader says of it besides its label. */
  readonly aria: { readonly "aria-describedby"?: string; readonly "aria-invalid"?: true };
};

/** What one value is typed into. */
export function Input(props: InputProps): ReactNode {
  const { field } = props;
  if (field.kind === "text" && field.input === "file")
    return <FileInput {...props} field={field} />;
  if (field.kind === "text" && field.input === "datetime-local")
    return <DateTimeInput {...props} field={field} />;
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
  aria,
}: InputProps<Of<"text">>): ReactNode {
  const common = {
    id,
    "data-effect": "field",
    value: typeof value === "string" ? value : "",
    required: isRequired && (field.minLength ?? 0) > 0,
    minLength: field.minLength,
    maxLength: field.maxLength,
    ...aria,
    onChange: ({ target }: { target: { value: string } }) =>
      onChange(target.value === "" ? undefined : target.value),
  };
  if (field.input === "multiline")
    return <textarea {...common} rows={rowsOf(common.value)} spellCheck={false} />;
  return <input {...common} type={field.input} autoComplete="off" />;
}

/** A picker knows the time of where it stands; what is sent is that moment in UTC, as the format wants it (RFC 3339). */
function DateTimeInput({ id, value, isRequired, onChange, aria }: InputProps): ReactNode {
  return (
    <input
      id={id}
      type="datetime-local"
      data-effect="field"
      step={1}
      required={isRequired}
      value={toLocalTime(value)}
      {...aria}
      onChange={({ target }) =>
        onChange(target.value === "" ? undefined : new Date(target.value).toISOString())
      }
    />
  );
}

/** What the picker shows for a moment; an invalid one is not shown. */
function toLocalTime(value: unknown): string {
  const date = new Date(typeof value === "string" ? value : Number.NaN);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Bytes of a file; a gateway takes 4 MiB by default, and the page has to hold what it sends. */
const MAX_FILE = 16 * 1024 * 1024;

/** A file whose bytes are sent as base64. */
function FileInput({ id, value, isRequired, onChange, aria }: InputProps): ReactNode {
  const choose = async (target: HTMLInputElement): Promise<void> => {
    const [file] = target.files ?? [];
    const isLarge = file !== undefined && file.size > MAX_FILE;
    target.setCustomValidity(isLarge ? `Choose a file of at most ${formatSize(MAX_FILE)}.` : "");
    const text = file === undefined || isLarge ? undefined : await toBase64(file);
    // Another file may have been chosen while this one was read.
    if (target.files?.[0] === file) onChange(text);
  };
  return (
    <>
      <input
        id={id}
        type="file"
        data-effect="field"
        required={isRequired && typeof value !== "string"}
        {...aria}
        onChange={({ target }) => void choose(target)}
      />
      {typeof value === "string" && value !== "" && (
        <small>{formatSize((value.length * 3) / 4)} are sent as base64.</small>
      )}
    </>
  );
}

function toBase64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () =>
      resolve((reader.result as string).replace(/^data:[^,]*,/, "")),
    );
    reader.addEventListener("error", () => reject(reader.error!));
    reader.readAsDataURL(file);
  });
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
  aria,
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
      {...aria}
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
  aria,
}: InputProps<Of<"choice">>): ReactNode {
  const index = field.values.findIndex((one) => writeJson(one) === writeJson(value));
  return (
    <select
      id={id}
      data-effect="field"
      required={isRequired && !field.nullable}
      value={index < 0 ? "" : String(index)}
      {...aria}
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
function JsonInput({ id, value, isRequired, onChange, aria }: InputProps): ReactNode {
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
      {...aria}
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
