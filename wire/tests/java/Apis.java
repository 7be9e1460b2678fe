import java.util.StringJoiner;

import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiKeys;

/**
 * Kafka's own table of APIs, a line each: key, name, lowest and highest version, whether the highest is unstable,
 * listeners, and the versions of the request and response headers for each version from the lowest to the highest.
 */
public class Apis {
    public static void main(String[] args) {
        for (ApiKeys api : ApiKeys.values()) {
            ApiMessageType type = api.messageType;
            StringJoiner headers = new StringJoiner(",");
            for (short v = type.lowestSupportedVersion(); v <= type.highestSupportedVersion(true); v++)
                headers.add(type.requestHeaderVersion(v) + ":" + type.responseHeaderVersion(v));
            System.out.println(String.join("\t", "" + api.id, api.name(), type.name,
                "" + type.lowestSupportedVersion(), "" + type.highestSupportedVersion(true),
                "" + type.latestVersionUnstable(), type.listeners().toString(), headers.toString()));
        }
    }
}
