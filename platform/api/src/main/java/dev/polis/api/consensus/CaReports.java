package dev.polis.api.consensus;

import dev.polis.etcd.KeyPrefix;
import dev.polis.etcd.KeyValues;
import dev.polis.pki.CaBundle;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Keeps reports in etcd of the CAs with which programs run, each under an id: a step of a rotation
 * waits until the step before has reached them. Thread-safe.
 */
public final class CaReports {

  private final KeyValues kv;
  private final KeyPrefix prefix;

  /**
   * @param prefix the place of the reports
   */
  public CaReports(KeyValues kv, KeyPrefix prefix) {
    this.kv = kv;
    this.prefix = prefix;
  }

  /**
   * Reports the CAs of one program, unless etcd has this report.
   *
   * @param trusted the first one has signed the program's certificate
   */
  public void report(String id, CaBundle trusted) throws InterruptedException {
    String key = prefix.key(id);
    String text = String.join(" ", trusted.fingerprints());
    if (kv.get(key).filter(stored -> stored.text().equals(text)).isEmpty()) {
      kv.put(key, text.getBytes(StandardCharsets.UTF_8));
    }
  }

  /** Returns the reported fingerprints by the ids, as {@link ConsensusCa#isReached} takes them. */
  public Map<String, List<String>> all() throws InterruptedException {
    return kv.range(prefix.range()).keys().stream()
        .collect(
            Collectors.toMap(
                each -> prefix.extractId(each.key()).orElseThrow(),
                each -> List.of(each.text().split(" "))));
  }
}
