package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.config.SettingException;
import java.lang.annotation.Annotation;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StorageSettingsTest {

  record Config(
      String root, String security, int volume_mebibytes, String device, String tpm, String slots)
      implements StorageConfig {
    @Override
    public Class<? extends Annotation> annotationType() {
      return StorageConfig.class;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "insecure,INSECURE",
    "ENCRYPTED,ENCRYPTED",
    "authenticated-encrypted,AUTHENTICATED_ENCRYPTED",
    "AUTHENTICATED_ENCRYPTED,AUTHENTICATED_ENCRYPTED"
  })
  void aSecurityIsNamedAsTheCommandLineOrTheWireWritesIt(String word, StorageSecurity meant) {
    StorageSettings settings = StorageSettings.of(new Config("/state", word, 512, "", "", ""));
    assertEquals(Optional.of(meant), settings.security().named());
  }

  @Test
  void theStrongestSecurityIsNoneThatIsNamed() {
    StorageSettings settings =
        StorageSettings.of(new Config("/state", "strongest", 8192, "", "", ""));
    assertEquals(
        new StorageSettings(
            Path.of("/state"), StorageSettings.Wish.STRONGEST, 8L << 30, null, "", null),
        settings);
    assertEquals(Optional.empty(), settings.security().named());
  }

  @ParameterizedTest
  @CsvSource({
    "/state, encryptd, 512, 'dev.polis.storage.security is \"encryptd\", which is not known; did you mean \"encrypted\"?'",
    "/state, insecure, 511, dev.polis.storage.volume.mebibytes",
    "' ', insecure, 512, dev.polis.storage.root"
  })
  void aValueThatCannotBeUsedIsRefusedByNameWithWhatIsMeant(
      String root, String security, int mebibytes, String words) {
    Config config = new Config(root, security, mebibytes, "", "", "");
    String message =
        assertThrows(SettingException.class, () -> StorageSettings.of(config)).getMessage();
    assertTrue(message.contains(words), message);
  }
}
