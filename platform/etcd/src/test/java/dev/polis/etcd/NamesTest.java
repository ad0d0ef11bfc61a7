package dev.polis.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NamesTest {

  @ParameterizedTest
  @ValueSource(strings = {"/foo/", "/foo/bar/"})
  @DisplayName("CUR-01 a prefix with slashes at both ends is accepted")
  void cur01_goodPrefixes(String text) {
    assertEquals(text, KeyPrefix.of(text).text());
  }

  @ParameterizedTest
  @ValueSource(strings = {"/foo//", "/foo//bar/", "/foo/bar", "foo", "foo/", "foo/bar", "/", ""})
  @DisplayName("CUR-01 any other prefix is refused and named")
  void cur01_badPrefixes(String text) {
    var refused = assertThrows(IllegalArgumentException.class, () -> KeyPrefix.of(text));
    assertTrue(refused.getMessage().contains("\"" + text + "\""), refused.getMessage());
  }

  @Test
  @DisplayName("CUR-01 keys, range and ids of a prefix")
  void cur01_keysRangeAndIds() {
    KeyPrefix foo = KeyPrefix.of("/foo/");
    assertEquals("/foo/x", foo.key("x"));
    assertThrows(IllegalArgumentException.class, () -> foo.key(""));
    assertThrows(IllegalArgumentException.class, () -> foo.key("a/b"));
    assertEquals(KeyRange.between("/foo/", "/foo0"), foo.range());
    assertEquals(Optional.of("x"), foo.extractId("/foo/x"));
    assertEquals(Optional.empty(), foo.extractId("/foo/x/y"));
    assertEquals(Optional.empty(), foo.extractId("/foo/"));
    assertEquals(Optional.empty(), foo.extractId("/fox/x"));
  }

  @Test
  @DisplayName("CON-06 and SEED-17 a namespace joins its parts and refuses ':' in any")
  void con06_namespaceGrammar() {
    assertEquals("namespaced:foo:bar:baz/", EtcdNamespace.of("foo", "bar", "baz").prefix());
    assertEquals("", EtcdNamespace.ROOT.prefix());
    assertThrows(IllegalArgumentException.class, () -> EtcdNamespace.ROOT.sub("a:b"));
    assertThrows(IllegalArgumentException.class, () -> EtcdNamespace.ROOT.sub("a/b"));
    assertThrows(IllegalArgumentException.class, () -> EtcdNamespace.ROOT.sub(""));
  }

  @Test
  void endpointsAreParsedAndRefusedByName() {
    assertEquals(new EtcdEndpoint("::1", 2379, "::1"), EtcdEndpoint.of("[::1]:2379"));
    assertEquals("[::1]:2379", EtcdEndpoint.of("[::1]:2379").toString());
    assertEquals("node-1", EtcdEndpoint.of("127.0.0.1:7834").named("node-1").serverName());
    for (String bad : new String[] {"host", ":1", "host:0", "host:70000", "host:x"}) {
      var refused = assertThrows(IllegalArgumentException.class, () -> EtcdEndpoint.of(bad));
      assertTrue(refused.getMessage().contains("etcd endpoint \""), refused.getMessage());
    }
  }
}
