declare module '*.md' {
  const text: string
  // Matches how the bundler exports `with { type: 'text' }`.
  export = text
}
