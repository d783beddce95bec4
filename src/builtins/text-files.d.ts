declare module '*.md' {
  const text: string
  // What the bundler makes of `with { type: 'text' }` has no other name.
  export = text
}
