package dev.polis.plugins.store;

/** Lists the steps of an installation at which a machine may die, in their order. */
enum StoreStep {
  /** The plugin's file has its content, under its temporary name. */
  FILE_WRITTEN,
  /** The plugin's file is forced to the disk. */
  FILE_FORCED,
  /** The plugin's file has its digest as its name. */
  FILE_RENAMED,
  /** The folder of files is forced to the disk. */
  FILES_FORCED,
  /** The generation's file has its content, under its temporary name. */
  GENERATION_WRITTEN,
  /** The generation's file is forced to the disk. */
  GENERATION_FORCED,
  /** The generation's file has its number as its name. */
  GENERATION_RENAMED,
  /** The folder of generations is forced to the disk. */
  GENERATIONS_FORCED,
  /** The pointer has its content, under its temporary name. */
  POINTER_WRITTEN,
  /** The pointer is forced to the disk. */
  POINTER_FORCED,
  /** The pointer has replaced the old one: from here on the new generation counts. */
  POINTER_RENAMED,
  /** The store's folder is forced to the disk. */
  POINTER_SETTLED,
  /** An unneeded generation is deleted. */
  GENERATION_DELETED,
  /** An unneeded file is deleted. */
  FILE_DELETED
}
