/** The page Chat, as an ES module for browsers. */
export const chat: string;
