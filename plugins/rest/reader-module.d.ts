/** The program of the thread that reads documents; `npm run build` writes it. */
export const program: string;
