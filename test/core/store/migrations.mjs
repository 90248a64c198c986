// @ts-check
/** @import { Migration } from "propylon/store" */

const texts = Array.from({ length: 40 }, (_, index) => ({ id: index, text: `note ${index}` }));

/** A table with rows; its rows in two tables; one of them under another name, with an index. @type {readonly Migration[]} */
export const migrations = [
  async (db) => {
    await db.schema
      .createTable("notes")
      .addColumn("id", "integer", (id) => id.primaryKey())
      .addColumn("text", "text")
      .execute();
    await db.insertInto("notes").values(texts).execute();
  },
  async (db) => {
    await db.schema
      .createTable("authors")
      .addColumn("note", "integer", (note) => note.references("notes.id").primaryKey())
      .addColumn("name", "text")
      .execute();
    for (const { id } of texts)
      await db
        .insertInto("authors")
        .values({ note: id, name: `author ${id}` })
        .execute();
  },
  async (db) => {
    await db.schema.alterTable("authors").renameTo("people").execute();
    await db.schema.createIndex("by_name").on("people").column("name").execute();
    for (const { id } of texts)
      await db
        .updateTable("notes")
        .set({ text: `new ${id}` })
        .where("notes.id", "=", id)
        .execute();
  },
];
