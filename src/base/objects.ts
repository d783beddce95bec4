type Present<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

/** The fields that have a value: an optional field is absent, never undefined. */
export function dropUndefined<Fields extends object>(fields: Fields): Present<Fields> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as Present<Fields>
}

/** The value of an own key: names such as `constructor` are names like any other. */
export function own<Value>(
  values: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}
