/** Environment variables; an absent one may also be undefined. */
export type Environment = Readonly<Record<string, string | undefined>>
