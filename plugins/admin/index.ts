import { definePlugin } from "propylon";

export default definePlugin({ name: "admin", setup() {} });
