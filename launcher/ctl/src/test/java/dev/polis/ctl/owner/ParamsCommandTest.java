package dev.polis.ctl.owner;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import dev.polis.ctl.CtlRun;
import dev.polis.ctl.session.ExitCode;
import dev.polis.pki.Ed25519;
import dev.polis.pki.OwnerKey;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.NodeParameters.ClusterBootstrap;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.PrivateKey;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ParamsCommandTest {

  @TempDir Path folder;

  private CtlRun make(String file, String... more) {
    return CtlRun.of(
        Stream.concat(
                Stream.of(
                    "params",
                    "make",
                    "--owner",
                    folder.resolve("owner").toString(),
                    "--to",
                    folder.resolve(file).toString()),
                Stream.of(more))
            .toArray(String[]::new));
  }

  private NodeParameters made(String file) throws Exception {
    return NodeParameters.parseFrom(Files.readAllBytes(folder.resolve(file)));
  }

  @Test
  void make_writesWhatWasAskedFor() throws Exception {
    CtlRun run =
        make(
            "parameters.pb",
            "--domain=lab.example",
            "--storage-policy=needs-encryption",
            "--tpm-mode=disabled",
            "--label=zone=a",
            "--label=example.com/rack=r1");
    assertEquals(ExitCode.OK.code(), run.code(), run.err());

    ClusterBootstrap bootstrap = made("parameters.pb").getClusterBootstrap();
    String pem = Files.readString(folder.resolve("owner/owner-key.pem"));
    assertEquals(OwnerKey.Form.METROPOLIS, OwnerKey.form(pem), "the reference's clients take it");
    PrivateKey key = OwnerKey.read(pem);
    assertArrayEquals(
        Ed25519.raw(Ed25519.publicKey(key)), bootstrap.getOwnerPublicKey().toByteArray());
    assertEquals(32, bootstrap.getRecoveryPublicKey().size());
    assertEquals(2, bootstrap.getLabels().getPairsCount());
    var configuration = bootstrap.getInitialClusterConfiguration();
    assertEquals("lab.example", configuration.getClusterDomain());
    assertEquals(TPMMode.TPM_MODE_DISABLED, configuration.getTpmMode());
    assertEquals(
        StorageSecurityPolicy.STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION,
        configuration.getStorageSecurityPolicy());
  }

  @Test
  void make_writesForTheOperatorAloneAndLeavesNothingElse() throws Exception {
    make("owner/parameters.json");
    try (Stream<Path> files = Files.list(folder.resolve("owner"))) {
      List<Path> written = files.sorted().toList();
      assertEquals(
          List.of("owner-key.pem", "parameters.json", "recovery-key.pem"),
          written.stream().map(file -> file.getFileName().toString()).toList());
      for (Path file : written) {
        assertEquals(
            "rw-------",
            PosixFilePermissions.toString(Files.getPosixFilePermissions(file)),
            file.toString());
      }
    }
  }

  @Test
  void make_againKeepsTheKeys() throws Exception {
    make("first.pb");
    make("second.pb");
    assertEquals(made("first.pb"), made("second.pb"));
  }

  @ParameterizedTest
  @EnumSource(OwnerKey.Form.class)
  void make_takesAnOwnersKeyInEitherForm(OwnerKey.Form form) throws Exception {
    PrivateKey key = Ed25519.generate().getPrivate();
    String pem = OwnerKey.write(key, form);
    Path brought = Files.writeString(folder.resolve("brought.pem"), pem);

    CtlRun run = make("parameters.pb", "--owner-key", brought.toString());

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertArrayEquals(
        Ed25519.raw(Ed25519.publicKey(key)),
        made("parameters.pb").getClusterBootstrap().getOwnerPublicKey().toByteArray());
    assertEquals(pem, Files.readString(folder.resolve("owner/owner-key.pem")));
  }

  @ParameterizedTest
  @EnumSource(OwnerKey.Form.class)
  void make_writesAnOwnersKeyInTheFormThatIsAskedFor(OwnerKey.Form form) throws Exception {
    CtlRun run = make("parameters.pb", "--owner-key-form", form.name().toLowerCase(Locale.ROOT));

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    String written = Files.readString(folder.resolve("owner/owner-key.pem"));
    assertEquals(form, OwnerKey.form(written));
    assertArrayEquals(
        Ed25519.raw(Ed25519.publicKey(OwnerKey.read(written))),
        made("parameters.pb").getClusterBootstrap().getOwnerPublicKey().toByteArray());
  }

  @Test
  void make_convertsAKeyThatIsBrought() throws Exception {
    String pem = OwnerKey.write(Ed25519.generate().getPrivate(), OwnerKey.Form.METROPOLIS);
    Path brought = Files.writeString(folder.resolve("brought.pem"), pem);

    make("parameters.pb", "--owner-key", brought.toString(), "--owner-key-form=pkcs8");

    String written = Files.readString(folder.resolve("owner/owner-key.pem"));
    assertEquals(OwnerKey.Form.PKCS8, OwnerKey.form(written));
    assertEquals(pem, OwnerKey.write(OwnerKey.read(written), OwnerKey.Form.METROPOLIS));
  }

  @Test
  void make_neverReplacesAnotherOwnersKey() throws Exception {
    make("first.pb");
    String before = Files.readString(folder.resolve("owner/owner-key.pem"));
    Path brought =
        Files.writeString(
            folder.resolve("brought.pem"),
            OwnerKey.write(Ed25519.generate().getPrivate(), OwnerKey.Form.METROPOLIS));

    CtlRun run = make("second.pb", "--owner-key", brought.toString());

    assertEquals(ExitCode.FAILED.code(), run.code(), run.out());
    assertTrue(run.err().contains("owner-key.pem holds another"), run.err());
    assertEquals(before, Files.readString(folder.resolve("owner/owner-key.pem")));
    assertFalse(Files.exists(folder.resolve("second.pb")), "nothing was written");
  }

  @Test
  void make_takesANetworkConfigAndRulesForLabels() throws Exception {
    Path network =
        Files.writeString(
            folder.resolve("net.json"),
            "{\"interface\": [{\"name\": \"eth0\", \"address\": [\"192.0.2.7/24\"]}],"
                + " \"nameserver\": [{\"ip\": \"192.0.2.53\"}]}");

    CtlRun run =
        make(
            "parameters.pb",
            "--network",
            network.toString(),
            "--sync-label=^zone=",
            "--no-recovery-key");

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    NodeParameters parameters = made("parameters.pb");
    assertEquals("192.0.2.7/24", parameters.getNetworkConfig().getInterface(0).getAddress(0));
    assertEquals("192.0.2.53", parameters.getNetworkConfig().getNameserver(0).getIp());
    ClusterBootstrap bootstrap = parameters.getClusterBootstrap();
    assertEquals(0, bootstrap.getRecoveryPublicKey().size());
    assertEquals(
        "^zone=",
        bootstrap
            .getInitialClusterConfiguration()
            .getKubernetes()
            .getNodeLabelsToSynchronize(0)
            .getRegexp());
  }

  @Test
  void make_namesTimeServers() throws Exception {
    CtlRun run = make("parameters.pb", "--time-server=ntp.example.org", "--time-server=192.0.2.1");

    assertEquals(ExitCode.OK.code(), run.code(), run.err());
    assertEquals(
        List.of("ntp.example.org", "192.0.2.1"), made("parameters.pb").getTimeServerList());
  }

  @Test
  void make_refusesANetworkConfigWithAFieldItDoesNotKnow() throws Exception {
    Path network = Files.writeString(folder.resolve("net.json"), "{\"interfaces\": []}");

    CtlRun run = make("parameters.pb", "--network", network.toString());

    assertEquals(ExitCode.FAILED.code(), run.code(), run.out());
    assertTrue(run.err().contains("interfaces"), run.err());
    assertFalse(Files.exists(folder.resolve("parameters.pb")), "nothing was written");
  }

  @Test
  void make_refusesToDecideForAClusterThatIsThere() {
    CtlRun run = make("parameters.pb", "--register", "--domain=lab.example", "--tpm-mode=disabled");

    assertEquals(ExitCode.USAGE.code(), run.code(), run.out());
    assertTrue(
        run.err().contains("--domain, --tpm-mode cannot be given with --register"), run.err());
  }

  @Test
  void show_readsBothForms() {
    make("parameters.pb");
    make("parameters.json");
    CtlRun binary = CtlRun.of("params", "show", folder.resolve("parameters.pb").toString());
    CtlRun json = CtlRun.of("params", "show", folder.resolve("parameters.json").toString());
    assertEquals(ExitCode.OK.code(), binary.code(), binary.err());
    assertEquals(binary, json);
    assertEquals(
        "cluster.internal",
        JsonParser.parseString(json.out())
            .getAsJsonObject()
            .getAsJsonObject("clusterBootstrap")
            .getAsJsonObject("initialClusterConfiguration")
            .get("clusterDomain")
            .getAsString());
  }

  @Test
  void show_neverPrintsATicket() throws Exception {
    byte[] ticket = "the-ticket-of-this-cluster".getBytes(java.nio.charset.StandardCharsets.UTF_8);
    NodeParameters.Builder parameters = NodeParameters.newBuilder();
    parameters.getClusterRegisterBuilder().setRegisterTicket(ByteString.copyFrom(ticket));
    Path file = Files.write(folder.resolve("p.pb"), parameters.build().toByteArray());
    for (String format : List.of("table", "json", "yaml")) {
      CtlRun run = CtlRun.of("params", "show", file.toString(), "-o", format);
      assertEquals(ExitCode.OK.code(), run.code(), run.err());
      assertTrue(run.out().contains("clusterRegister"), run.out());
      assertFalse(
          run.out().contains(java.util.Base64.getEncoder().encodeToString(ticket)), run.out());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "--storage-policy=strong, strong",
    "--storage-policy=invalid, invalid",
    "--tpm-mode=maybe, maybe",
    "--owner-key-form=der, der",
    "--domain=Not_A_Domain, Not_A_Domain",
    "--domain=1.2.3.4, 1.2.3.4",
    "--time-server=ntp iburst, ntp iburst",
    "--label=a b=c, a b=c",
    "--label=zone=-, zone=-",
    "--label=zone, zone",
  })
  void make_refusesWhatTheClusterWouldRefuse(String option, String named) {
    CtlRun run = make("parameters.pb", option);
    assertEquals(ExitCode.USAGE.code(), run.code(), run.out());
    assertTrue(run.err().contains(named), run.err());
    assertFalse(Files.exists(folder.resolve("parameters.pb")), "nothing was written");
  }

  @Test
  void make_refusesADomainThatLeavesNoRoomBelowIt() {
    String longest = "a".repeat(63) + "." + "b".repeat(16);
    assertEquals(ExitCode.OK.code(), make("fits.pb", "--domain=" + longest).code());
    CtlRun run = make("parameters.pb", "--domain=" + longest + "b");
    assertEquals(ExitCode.USAGE.code(), run.code(), run.out());
    assertTrue(run.err().contains("has 81 characters; 80 are allowed"), run.err());
    assertFalse(Files.exists(folder.resolve("parameters.pb")), "nothing was written");
  }

  @ParameterizedTest
  @CsvSource({"owner-key.pem", "recovery-key.pem"})
  void make_neverReplacesAKeyItCannotRead(String name) throws Exception {
    Path key = Files.createDirectories(folder.resolve("owner")).resolve(name);
    Files.writeString(key, "damaged");
    CtlRun run = make("parameters.pb");
    assertEquals(ExitCode.FAILED.code(), run.code());
    assertTrue(run.err().contains(key.toString()), run.err());
    assertFalse(run.err().contains("defect"), run.err());
    assertEquals("damaged", Files.readString(key));
  }

  @Test
  void show_tellsMissingFromDamaged() throws Exception {
    assertEquals(
        ExitCode.NOT_FOUND.code(),
        CtlRun.of("params", "show", folder.resolve("none.pb").toString()).code());
    for (String name : List.of("bad.pb", "bad.json")) {
      Path file = Files.writeString(folder.resolve(name), "{ÿ");
      CtlRun run = CtlRun.of("params", "show", file.toString());
      assertEquals(ExitCode.FAILED.code(), run.code(), name);
      assertTrue(run.err().contains(file.toString()), run.err());
    }
  }
}
