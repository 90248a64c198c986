import { z, type ZodType } from "zod";
import { boundedRecord } from "propylon/kit";
import { isZodSchema, PERSON_ROLES, ROUTE_METHODS } from "propylon/internal";
import type { Panel } from "./panel.ts";

const pointer = z.string().regex(/^(?:\/.*)?$/, "must be a JSON pointer such as /servers");
const reference = z
  .string()
  .regex(
    new RegExp(`^(?:${ROUTE_METHODS.join("|")}) /`),
    "must be a method and a path, as in GET /_meta/servers",
  );
const accessSchema = z.enum(PERSON_ROLES);
const label = z.string().min(1).max(100);
const text = z.string().min(1).max(200);

const zodSchema = z.custom<ZodType>(isZodSchema, "must be a zod schema");

const column = z.strictObject({
  label,
  value: pointer,
  as: z
    .enum(["text", "number", "boolean", "time", "duration", "bytes", "state", "code", "list"])
    .optional(),
});

const choices = z.strictObject({
  from: reference,
  values: pointer,
  value: pointer.optional(),
  with: boundedRecord(z.string(), z.string().max(100), 50).optional(),
});

const request = {
  route: reference,
  about: reference.optional(),
  choices: boundedRecord(z.string(), choices, 50).optional(),
  confirm: z.string().min(1).max(500).optional(),
  access: accessSchema.optional(),
  mutates: z.boolean().optional(),
  secret: pointer.optional(),
  secretTitle: text.optional(),
};

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const when = z
  .record(z.string(), z.array(scalar).min(1).max(50))
  .refine((values) => Object.keys(values).every((key) => pointer.safeParse(key).success), {
    message: "each key must be a JSON pointer such as /state",
  });

const action = z.strictObject({
  ...request,
  label,
  params: boundedRecord(z.string(), pointer, 50).optional(),
  when: when.optional(),
  name: text.optional(),
  what: text.optional(),
  done: text.optional(),
  tone: z.enum(["primary", "danger"]).optional(),
  submit: label.optional(),
  defaults: boundedRecord(z.string(), pointer, 50).optional(),
  body: z.record(z.string(), z.unknown()).optional(),
  input: zodSchema.optional(),
});
const actions = z.array(action).max(20).optional();
const source = {
  from: reference,
  live: z
    .string()
    .regex(/^[a-z][a-z0-9_]*$/)
    .optional(),
};
const columns = z.array(column).min(1).max(50);

const VIEWS = {
  table: z.strictObject({
    ...source,
    rows: pointer,
    columns,
    actions,
    add: actions,
    key: text.optional(),
    search: z.array(pointer).min(1).max(10).optional(),
    empty: z.string().max(500).optional(),
  }),
  fields: z.strictObject({ ...source, fields: columns, actions }),
  metric: z.strictObject({ ...source, value: pointer, unit: z.string().max(20).optional() }),
  log: z.strictObject({ ...source, lines: pointer }),
  form: z.strictObject({ ...request, input: zodSchema, submit: label, done: text.optional() }),
};

const view = z
  .strictObject(
    Object.fromEntries(Object.entries(VIEWS).map(([kind, schema]) => [kind, schema.optional()])),
  )
  .refine((kinds) => Object.keys(kinds).length === 1, {
    message: `must be one of ${Object.keys(VIEWS).join(", ")}`,
  });

/** Plugins may be plain JavaScript, so what the types of a panel demand is demanded here again. */
export const panelSchema = z
  .strictObject({
    id: z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, "must be lower-case letters, digits and -"),
    title: label,
    description: z.string().max(500).optional(),
    place: z.enum(["overview", "servers/detail", "page"]),
    access: accessSchema,
    view: view.optional(),
    module: z.union([z.instanceof(URL), z.string().min(1)]).optional(),
  })
  .refine((panel) => (panel.view === undefined) !== (panel.module === undefined), {
    message: "must have a view or a module, and not both",
  }) as unknown as ZodType<Panel>;
