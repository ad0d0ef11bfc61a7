package dev.polis.plugins.store;

/**
 * Lists the steps of an installation between which a machine may die. In the order in which they
 * are passed.
 */
enum StoreStep {
  /** A plugin's file is written under its temporary name. */
  FILE_WRITTEN,
  /** It is forced to disk. */
  FILE_FORCED,
  /** It bears its digest as its name. */
  FILE_RENAMED,
  /** The folder of files is forced to disk. */
  FILES_FORCED,
  /** The generation is written under its temporary name. */
  GENERATION_WRITTEN,
  /** It is forced to disk. */
  GENERATION_FORCED,
  /** It bears its number as its name. */
  GENERATION_RENAMED,
  /** The folder of generations is forced to disk. */
  GENERATIONS_FORCED,
  /** The pointer is written under its temporary name. */
  POINTER_WRITTEN,
  /** It is forced to disk. */
  POINTER_FORCED,
  /** It took the place of the old one: from here on the new generation counts. */
  POINTER_RENAMED,
  /** The store's folder is forced to disk. */
  POINTER_SETTLED,
  /** A generation that is no longer needed is deleted. */
  GENERATION_DELETED,
  /** A file that is no longer needed is deleted. */
  FILE_DELETED
}
