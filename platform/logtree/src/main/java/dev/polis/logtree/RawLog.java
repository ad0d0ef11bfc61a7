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
   * Opens a stream whose lines become entries. A line becomes an entry when its newline comes; the
   * close writes an unfinished one. A write after the close fails.
   */
  OutputStream stream();
}
