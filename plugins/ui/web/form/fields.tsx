import { useId, type FormEvent, type ReactNode } from "react";
import { writeJson } from "../kit/json.ts";
import { Loaded } from "../parts/loaded.tsx";
import { Words } from "../parts/text.tsx";
import { toLabel, visible } from "../kit/words.ts";
import { Input, type FieldProps, type Of } from "./inputs.tsx";
import { useProblem } from "./problems.ts";
import { isObject, type FormMember } from "./schema.ts";

/** The field or fields for a schema. */
export function Field(props: FieldProps): ReactNode {
  const { field } = props;
  if (field.kind === "group") return <Group {...props} field={field} />;
  if (field.kind === "list") return <List {...props} field={field} />;
  if (field.kind === "set") return <Choices {...props} field={field} />;
  return <Single {...props} field={field} />;
}

/** Whether choices are not there yet, or could not be had; those that wait for another member are not asked for. */
function isUnsettled(answer: FieldProps["answer"]): boolean {
  return answer !== undefined && (answer.isLoading || answer.isError);
}

/** What is said in place of choices, or of how old they are. */
function Waiting({ answer, field, label }: FieldProps): ReactNode {
  return (
    <Loaded query={answer!} what={field.title ?? label}>
      {() => null}
    </Loaded>
  );
}

function Single(props: FieldProps): ReactNode {
  const { field, label, isRequired } = props;
  const id = useId();
  const about = visible(field.description ?? "");
  const { problem, say, forget } = useProblem(props.path ?? label);
  const describedBy = [about !== "" && `${id}-about`, problem !== "" && `${id}-problem`]
    .filter(Boolean)
    .join(" ");
  return (
    <div className="field" onInvalidCapture={(event) => say(takeProblem(event))} onInput={forget}>
      <label htmlFor={id}>
        <Words>{field.title ?? label}</Words>
        {field.title !== undefined && field.title !== label && (
          <code className="faint">
            <Words>{label}</Words>
          </code>
        )}
        {!isRequired && <span className="faint">optional</span>}
      </label>
      <Input
        {...props}
        id={id}
        aria={{
          ...(describedBy !== "" && { "aria-describedby": describedBy }),
          ...(problem !== "" && { "aria-invalid": true }),
        }}
      />
      {problem !== "" && (
        <small id={`${id}-problem`} className="problem">
          <Words>{problem}</Words>
        </small>
      )}
      {about !== "" && <small id={`${id}-about`}>{about}</small>}
      {isUnsettled(props.answer) && <Waiting {...props} />}
    </div>
  );
}

/** What the browser says of a field, which stands at the field and stays there; the first wrong one has the focus. */
function takeProblem(event: FormEvent): string {
  event.preventDefault();
  const control = event.target as HTMLInputElement;
  const first = control.form?.querySelector(":is(input, select, textarea):invalid");
  if (first === control) control.focus();
  return control.validationMessage;
}

/** The frame of fields that belong together. */
function Fieldset({
  field,
  label,
  isRequired,
  path,
  children,
}: Pick<FieldProps, "field" | "label" | "isRequired" | "path"> & {
  readonly children: ReactNode;
}): ReactNode {
  const { problem } = useProblem(path ?? label);
  return (
    <fieldset className="group">
      <legend>
        <Words>{field.title ?? label}</Words>
        {!isRequired && <span className="faint"> optional</span>}
      </legend>
      {field.description !== undefined && (
        <small>
          <Words>{field.description}</Words>
        </small>
      )}
      {problem !== "" && (
        <small className="problem">
          <Words>{problem}</Words>
        </small>
      )}
      {children}
    </fieldset>
  );
}

function Group(props: FieldProps<Of<"group">>): ReactNode {
  const { field, value, onChange } = props;
  return (
    <Fieldset {...props}>
      <Members
        members={field.members}
        value={value}
        onChange={onChange}
        path={props.path ?? props.label}
      />
    </Fieldset>
  );
}

/** The properties of an object, one below the other. */
export function Members(props: {
  readonly members: readonly FormMember[];
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly answers?: Readonly<Record<string, FieldProps["answer"]>>;
  /** Where the object stands in the form; absent for the form itself. */
  readonly path?: string;
}): ReactNode {
  const { members, value, onChange, answers, path } = props;
  const given = isObject(value) ? value : {};
  return members.map(({ name, field, isRequired }) => (
    <Field
      key={name}
      field={field}
      label={name}
      path={path === undefined ? name : `${path}.${name}`}
      isRequired={isRequired}
      value={given[name]}
      answer={answers?.[name]}
      onChange={(part) => onChange({ ...given, [name]: part })}
    />
  ));
}

function List(props: FieldProps<Of<"list">>): ReactNode {
  const { field, value, label, onChange } = props;
  const items = Array.isArray(value) ? (value as readonly unknown[]) : [];
  const change = (next: readonly unknown[]): void => onChange(next.length === 0 ? undefined : next);
  const isFull = field.maxItems !== undefined && items.length >= field.maxItems;
  return (
    <Fieldset {...props}>
      {items.map((item, index) => (
        // Items have no identity but their place, and the number of them, so that removing one does not keep another's text.
        <div className="row item" key={`${index}/${items.length}`}>
          <Field
            field={field.item}
            label={`${label} ${index + 1}`}
            path={`${props.path ?? label}.${index}`}
            isRequired
            value={item}
            onChange={(part) => change(items.with(index, part))}
          />
          <button
            type="button"
            className="quiet"
            data-effect="field"
            aria-label={`Remove ${label} ${index + 1}`}
            onClick={() => change(items.toSpliced(index, 1))}
          >
            ✕
          </button>
        </div>
      ))}
      {!isFull && (
        <button
          type="button"
          className="quiet"
          data-effect="field"
          onClick={() => change([...items, field.item.initial ?? ""])}
        >
          Add {label}
        </button>
      )}
    </Fieldset>
  );
}

/** A box for each value; the number behind it is its place, since what was chosen first comes first. */
function Choices(props: FieldProps<Of<"set">>): ReactNode {
  const { field, value, onChange } = props;
  const chosen = Array.isArray(value) ? (value as readonly unknown[]) : [];
  return (
    <Fieldset {...props}>
      {isUnsettled(props.answer) ? (
        <Waiting {...props} />
      ) : (
        field.values.length === 0 && <p className="faint">There is nothing to choose from.</p>
      )}
      {field.values.map((one) => {
        const place = chosen.findIndex((each) => writeJson(each) === writeJson(one));
        const next = place < 0 ? [...chosen, one] : chosen.toSpliced(place, 1);
        return (
          <label key={writeJson(one)} className="row">
            <input
              type="checkbox"
              data-effect="field"
              checked={place >= 0}
              onChange={() => onChange(next.length === 0 ? undefined : next)}
            />
            <Words>{toLabel(one)}</Words>
            {place >= 0 && <span className="faint">{place + 1}</span>}
          </label>
        );
      })}
    </Fieldset>
  );
}
