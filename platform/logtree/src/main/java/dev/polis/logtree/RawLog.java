package dev.polis.logtree;

import java.io.OutputStream;
import org.osgi.annotation.versioning.ProviderType;

/** Appends raw lines to the journal of one distinguished name. Safe for use by any thread. */
@ProviderType
public interface RawLog {
  /** Returns the name of the journal. */
  String dn();

  /** Appends one entry for each line of {@code text}. */
  void line(String text);

  /**
   * Opens a stream whose lines become entries. A line is held back until its newline comes; closing
   * writes an unfinished one. Writing after that fails.
   */
  OutputStream stream();
}
